"""Every error is one sentence on standard error, with an exit code of the table and no traceback."""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cli import main as front
from tiltyard_specs import (
    DataError,
    ExitCode,
    InterruptedTrialError,
    TiltyardError,
    UnavailableError,
    UsageError,
)

Command = Callable[..., Any]
Spec = Callable[..., Path]
NOWHERE = {"DOCKER_HOST": "unix:///nowhere.sock"}


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["run"], "Missing argument 'SPEC'"),
        (["run", "trial.yaml", "--frob"], "No such option: --frob"),
        (["run", "trial.yaml", "--reps", "many"], "Invalid value for '--reps': Input should be a valid int"),
        (["run", "trial.yaml", "--parallel", "0"], "Invalid value for '--parallel': Input should be greater"),
        (["run", "trial.yaml", "--out"], "Option '--out' requires an argument"),
        (["report"], "Missing argument 'RESULTS...'"),
        (["init", "a.yaml", "b.yaml"], "Got unexpected extra argument"),
        (["run", "trial.yaml", "--question", "summ", "--dry-run"],
         'tiltyard: no question is called "summ"; did you mean "sum"?'),
        (["run", "trial.yaml", "--arm", "x", "--dry-run"], 'tiltyard: no arm is called "x"'),
        (["run", "trial.yaml", "--agent", "x", "--dry-run"], 'tiltyard: no agent is called "x"'),
        (["run", "trial.yaml", "--reps", "0", "--dry-run"], "tiltyard: reps must be at least 1, got 0"),
        (["init", "trial.txt"], 'tiltyard: a spec is a .yaml or .toml file, got "trial.txt"'),
        (["init", "trial.yaml"], "tiltyard: trial.yaml exists already; choose another name"),
        (["init", "no/trial.yaml"], "tiltyard: no/trial.yaml cannot be written: No such file or directory"),
        (["report", ".", "--confidence", "2"], "tiltyard: confidence is 2.0, it must be from 0.5 to 0.999"),
    ],
)  # fmt: skip
def test_wrong_usage(tiltyard: Command, spec: Spec, tmp_path: Path, args: list[str], sentence: str) -> None:
    spec()
    (tmp_path / "trial.json").write_text(
        '{"schema_version": 1, "trial": "t", "plan_id": "p", "seed": 1, "spec": {}}'
    )
    done = tiltyard(*args)

    assert done.code == ExitCode.USAGE
    assert sentence in done.err
    assert done.out == ""


@pytest.mark.parametrize("command", [["check"], ["run"], ["run", "--dry-run"]])
def test_a_wrong_spec_is_told_whole(tiltyard: Command, spec: Spec, command: list[str]) -> None:
    """All problems at once, each with its line, before an engine is asked for."""
    path = spec(("expect:", "expct:"), ("name: docs", "nam: docs"), ("reps: 1", "reps: 0"))
    done = tiltyard(*command, path.name, **NOWHERE)

    assert done.code == ExitCode.DATA
    assert done.out == ""
    lines = done.err.splitlines()
    assert lines[0].startswith("tiltyard: trial.yaml:2: defaults.reps: ")
    assert any(line.startswith("trial.yaml:5: arms[1].nam: ") and '"name"' in line for line in lines)
    assert any(line.startswith("trial.yaml:9: questions[0].expct: ") and "expect" in line for line in lines)


@pytest.mark.parametrize("command", ["check", "run"])
def test_files_that_are_no_specs(tiltyard: Command, tmp_path: Path, command: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "binary.yaml").write_bytes(b"\x80\x81\x00")
    for name in ("missing.yaml", "folder.yaml", "loop.yaml", "empty.yaml", "binary.yaml"):
        done = tiltyard(command, name)

        assert done.code == ExitCode.DATA, name
        assert done.err.startswith(f"tiltyard: {name}: "), done.err
        assert len(done.err.splitlines()) == 1


def test_no_engine(process: Command, spec: Spec) -> None:
    for command in ("run", "check"):
        done = process(command, spec().name, **NOWHERE)

        assert done.code == ExitCode.UNAVAILABLE
        assert done.err.startswith(
            "tiltyard: No Docker engine answers at unix:///nowhere.sock: start one with `make engine`, "
            "or set DOCKER_HOST to one that runs"
        )
        assert len(done.err.splitlines()) == 1


def test_a_missing_key(tiltyard: Command, spec: Spec) -> None:
    """It is named by its variable, before an engine is asked for; a script or a dry run needs none."""
    path = spec(('{name: probe, kind: text, command: "echo 4"}', "{name: claude, model: m}"))
    done = tiltyard("run", path.name, **NOWHERE)

    assert done.code == ExitCode.UNAVAILABLE
    assert done.err == (
        "tiltyard: trial.yaml:7: agents[0]: the environment variable ANTHROPIC_API_KEY, with the anthropic "
        'key of "claude", is not set; export ANTHROPIC_API_KEY, or name another one in gateway.keys_from\n'
        "trial.yaml: the spec is right, but cannot run here without that; "
        "--model-script FILE answers model calls from a script and needs no key\n"
    )
    assert tiltyard("run", path.name, "--dry-run", **NOWHERE).code == 0


def test_a_careless_spec_is_warned_of(tiltyard: Command, spec: Spec) -> None:
    """It runs all the same; a script spends nothing."""
    path = spec(('{name: probe, kind: text, command: "echo 4"}', "{name: claude, model: m}"))
    script = path.with_name("script.yaml")
    script.write_text("conversations: [{turns: [{text: hi}]}]")
    real = tiltyard("run", path.name, "--dry-run", **NOWHERE)
    scripted = tiltyard("run", path.name, "--dry-run", "--model-script", script.name, **NOWHERE)

    assert (real.code, scripted.code) == (0, 0)
    assert any(
        line.startswith("warning: trial.yaml:7: agents[0]: no budget") for line in real.err.splitlines()
    )
    assert "no budget" not in scripted.err


def test_a_setting_that_cannot_be_enforced(tiltyard: Command, spec: Spec) -> None:
    """Refused, since a policy that is silently ignored costs money."""
    path = spec(("kind: text", "auth: passthrough, kind: text"))
    done = tiltyard("run", path.name, **NOWHERE)

    assert done.code == ExitCode.UNAVAILABLE
    assert done.err == (
        "tiltyard: trial.yaml: auth: passthrough cannot be used: text keeps no login of its own: "
        "name the variable that holds it, keys_from: {anthropic: NAME_OF_A_VARIABLE}\n"
    )


@pytest.mark.engine
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("conversations: []", "script.yaml:1: conversations: must not be empty"),
        ("conversations: [{turns: [{txt: hi}]}]", "script.yaml:1: conversations[0].turns[0].txt: "),
        ("- : {", "script.yaml:"),
        (None, "script.yaml: "),
    ],
)
def test_a_bad_model_script(
    tiltyard: Command, spec: Spec, tmp_path: Path, text: str | None, sentence: str
) -> None:
    """Told at once, whichever command is given it, and nothing is left of the start."""
    if text is not None:
        (tmp_path / "script.yaml").write_text(text)
    for args in (["check", spec().name], ["run", "trial.yaml"], ["run", "trial.yaml", "--dry-run"]):
        done = tiltyard(*args, "--model-script", "script.yaml")

        assert done.code == ExitCode.DATA, args
        assert done.err.startswith(f"tiltyard: {sentence}"), done.err
        assert not (tmp_path / "trial-results").exists()
    assert tiltyard("model-script", "script.yaml").code == ExitCode.DATA


@pytest.mark.engine
def test_a_results_folder_that_cannot_be_written(tiltyard: Command, spec: Spec, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out, why in (("file", "File exists"), ("file/below", "Not a directory"), ("/proc/x", "No such file")):
        done = tiltyard("run", spec().name, "--out", out)

        assert done.code == ExitCode.UNAVAILABLE
        assert f"cannot be written: {why}" in done.err
        assert done.err.endswith("; choose another with --out\n")


@pytest.mark.engine
@pytest.mark.skipif(os.getuid() == 0 and not Path("/usr/bin/setpriv").exists(), reason="root may write all")
def test_a_read_only_results_folder(spec: Spec, tmp_path: Path) -> None:
    """Root may write everywhere unless its privileges are dropped."""
    path = spec()
    (tmp_path / "results").mkdir(mode=0o555)
    code = (
        "import sys; from pathlib import Path; from tiltyard_cluster import FolderStore\n"
        "from tiltyard_specs import UnavailableError\n"
        "try: FolderStore.create(Path(sys.argv[1]))\n"
        "except UnavailableError as error: print(error)"
    )
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    done = subprocess.run(
        [*drop, sys.executable, "-c", code, str(path.parent / "results")],
        check=True,
        capture_output=True,
        text=True,
    )

    assert done.stdout == (
        f"the results folder {tmp_path / 'results'} cannot be written: Permission denied; "
        "choose another with --out\n"
    )


@pytest.mark.engine
@pytest.mark.parametrize("command", ["run", "check"])
def test_more_processors_than_there_are(tiltyard: Command, spec: Spec, tmp_path: Path, command: str) -> None:
    """Told before anything runs; every container would fail."""
    done = tiltyard(command, spec(("defaults:", "limits: {cpus: 1000}\ndefaults:")).name)

    assert done.code == ExitCode.UNAVAILABLE
    assert re.fullmatch(
        r"tiltyard: trial.yaml: limits.cpus is 1000, but this machine has \d+; lower it\n", done.err
    )
    assert not (tmp_path / "trial-results").exists()


@pytest.mark.parametrize("command", ["run", "check"])
def test_less_memory_than_an_engine_gives(tiltyard: Command, spec: Spec, command: str) -> None:
    """Wrong on every machine."""
    done = tiltyard(command, spec(("defaults:", "limits: {memory: 4m}\ndefaults:")).name, **NOWHERE)

    assert done.code == ExitCode.DATA
    assert "limits.memory: " in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("args", [("run",), ("run", "--dry-run")])
def test_results_are_not_strewn_among_other_files(
    tiltyard: Command, spec: Spec, tmp_path: Path, args: tuple[str, ...]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    done = tiltyard(*args, spec().name, "--out", "mine", **NOWHERE)

    assert done.code == ExitCode.USAGE
    assert done.err.endswith("mine is not empty and holds no trial; choose another folder with --out\n")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("names", [(), (".lock", ".gitignore"), ("superseded", "notes.txt"), ("runs",)])
def test_a_folder_of_a_trial_takes_results(
    tiltyard: Command, spec: Spec, tmp_path: Path, names: tuple[str, ...]
) -> None:
    (tmp_path / "mine").mkdir()
    for name in names:
        (tmp_path / "mine" / name).mkdir()

    assert tiltyard("run", spec().name, "--out", "mine", "--dry-run").code == 0


def test_a_ref_that_does_not_exist(tiltyard: Command, spec: Spec, tmp_path: Path) -> None:
    """`check` looks it up, before it asks for an engine."""
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@localhost", "-C", str(tmp_path / "app")]
    (tmp_path / "app").mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    repos = ("arms:", "repos: [{name: app, source: app, ref: v9}]\narms:")
    done = tiltyard("check", spec(repos).name, TILTYARD_CACHE=str(tmp_path / "cache"), **NOWHERE)

    assert done.code == ExitCode.DATA
    assert "has no ref 'v9'" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("command", [["check"], ["run"], ["run", "--dry-run"]])
def test_a_model_script_in_place_of_a_spec(tiltyard: Command, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "script.yaml").write_text("conversations: [{turns: [{text: hi}]}]")
    done = tiltyard(*command, "script.yaml")

    assert done.code == ExitCode.DATA
    assert done.err == (
        "tiltyard: script.yaml is a model script, not a trial spec; "
        "to check it: tiltyard check SPEC --model-script script.yaml\n"
    )


def test_a_report_on_nothing(tiltyard: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    missing, empty = tiltyard("report", "nowhere"), tiltyard("report", "empty")

    assert (missing.code, empty.code) == (ExitCode.DATA, ExitCode.DATA)
    (tmp_path / "file.json").write_text("{}")
    file = tiltyard("report", "file.json")
    assert file.code == ExitCode.DATA
    assert file.err == "tiltyard: file.json is a file; give the results folder that holds it\n"
    assert missing.err == "tiltyard: nowhere is no results folder: there is no such folder\n"
    assert empty.err == (
        "tiltyard: empty holds no trial: there is neither trial.json nor a record under runs/\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (TiltyardError("said"), 1, "tiltyard: said"),
        (UsageError("said"), 64, "tiltyard: said"),
        (DataError("said"), 65, "tiltyard: said"),
        (UnavailableError("said"), 69, "tiltyard: said"),
        (InterruptedTrialError("said"), 130, "tiltyard: said"),
        (KeyboardInterrupt(), 130, "tiltyard: interrupted"),
        (OSError(errno.ENOSPC, "No space left on device", "results/x"), 69,
         "tiltyard: results/x: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied"), 69, "tiltyard: Permission denied"),
        (KeyError("lost"), 69,
         "tiltyard: internal error: KeyError: 'lost'; TILTYARD_DEBUG=1 shows where. Please report it"),
    ],
)  # fmt: skip
def test_every_error_ends_in_one_sentence(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    """Also those that nobody expected."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(front, "app", fail)
    with pytest.raises(SystemExit) as caught:
        front.main([])

    assert caught.value.code == code
    assert capfd.readouterr().err == sentence + "\n"


def test_a_full_disk(tiltyard: Command) -> None:
    """Standard output that takes nothing more."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("tiltyard")), "help", "exit-codes"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == ExitCode.UNAVAILABLE
    assert done.stderr == "tiltyard: No space left on device\n"


def test_a_reader_that_has_gone() -> None:
    """As in `tiltyard report DIR | head -1`: no complaint."""
    tiltyard = str(Path(sys.executable).with_name("tiltyard"))
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{tiltyard} help exit-codes | true"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
