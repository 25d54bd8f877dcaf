"""`tiltyard doctor` says what a machine has and lacks, and changes nothing."""

import os
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest

from tiltyard_cluster.look_only import ImageFinder, look_up
from tiltyard_images import RepoError
from tiltyard_runner.owner import Owner
from tiltyard_specs.exit_codes import ExitCode

pytestmark = pytest.mark.slow  # many processes

Command = Callable[..., Any]
Spec = Callable[..., Path]
NOWHERE = {"DOCKER_HOST": "unix:///nowhere.sock"}
STATES = ("ok      ", "missing ", "note    ")


def _lines(done: Any) -> list[str]:
    """All findings, each with its prefix, and a closing sentence."""
    *findings, closing = done.out.splitlines()
    assert done.err == ""
    assert all(line.startswith(STATES) for line in findings), done.out
    assert closing.endswith(".")
    return [*findings, closing]


def _line(done: Any, part: str) -> str:
    (line,) = [line for line in _lines(done) if part in line]
    return line


def test_it_explains_itself(tiltyard: Command) -> None:
    done = tiltyard("doctor", "--help")

    assert done.code == 0
    assert "[SPEC]" in done.out
    assert "  doctor " in tiltyard("--help").out


def test_no_engine(process: Command) -> None:
    done = process("doctor", **NOWHERE)

    assert done.code == ExitCode.UNAVAILABLE
    assert _line(done, "engine: ").startswith(
        "missing engine: No Docker engine answers at unix:///nowhere.sock"
    )
    assert _line(done, "git version").startswith("ok ")
    assert _lines(done)[-1] == "Something needed is missing: a trial cannot run here until it is there."


def test_the_rest_of_a_spec_is_told_without_an_engine(process: Command, spec: Spec) -> None:
    path = spec(('{name: probe, kind: text, command: "echo 4"}', "{name: claude, model: m}"))
    done = process("doctor", path.name, ANTHROPIC_API_KEY="", **NOWHERE)

    assert done.code == ExitCode.UNAVAILABLE
    assert _line(done, "ANTHROPIC_API_KEY").startswith("missing key: trial.yaml:7: agents[0]: ")
    assert _line(done, "budget: ").startswith("note    budget: no budget bounds what claude may spend")
    assert '"m" has no price' in _line(done, "price")


@pytest.mark.engine
def test_a_machine_that_can_run_trials(process: Command) -> None:
    done = process("doctor")

    assert done.code == 0, done.out
    for part in ("Python 3.", "git version", "cache: ", "storage driver", "base image: ", "sealed slots: "):
        assert _line(done, part).startswith("ok "), done.out
    assert _lines(done)[-1] == "Nothing needed is missing: a trial could run here."


@pytest.mark.engine
def test_an_empty_cache_stays_absent(process: Command, spec: Spec, tmp_path: Path) -> None:
    """Nothing is made: neither a folder nor a mirror of a repository."""
    _repo(tmp_path / "app")
    path = spec(
        ("arms:", "repos: [{name: app, source: app}]\narms:"), ('prompt: "2+2?"', 'prompt: "2+2?", repo: app')
    )
    before = sorted(tmp_path.rglob("*"))
    done = process("doctor", path.name, TILTYARD_CACHE=str(tmp_path / "cache" / "below"))

    assert done.code == 0, done.out
    assert "(made by the first trial) is writable" in _line(done, "cache: ")
    assert _line(done, "repo app").startswith("ok      repo app: app answers, its default branch is ")
    assert "tiltyard/workspace:" in _line(done, "would be built")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_cache_that_cannot_be_written(process: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = tmp_path / "file" / "below"
    done = process("doctor", TILTYARD_CACHE=str(cache), **NOWHERE)

    assert _line(done, "cache: ").startswith(f"missing cache: {cache} cannot be written; name another")


def test_no_git(process: Command, tmp_path: Path) -> None:
    done = process("doctor", PATH=str(tmp_path), **NOWHERE)

    assert done.code == ExitCode.UNAVAILABLE
    assert _line(done, "git: ").startswith("missing git: not installed")


def test_a_wrong_spec(process: Command, spec: Spec, tmp_path: Path) -> None:
    """Each problem is a line, and weighs more than a missing engine."""
    path = spec(("expect:", "expct:"), ("reps: 1", "reps: 0"))
    done = process("doctor", path.name, **NOWHERE)

    assert done.code == ExitCode.DATA
    assert _line(done, "defaults.reps").startswith("missing trial.yaml:2: defaults.reps: ")
    assert "expct" in _line(done, "questions[0].expct")
    assert _lines(done)[-1] == "The spec trial.yaml is wrong: correct what is named above, then try again."
    assert process("doctor", "absent.yaml", **NOWHERE).code == ExitCode.DATA
    (tmp_path / "binary.yaml").write_bytes(b"\x80\x81\x00")
    assert process("doctor", "binary.yaml", **NOWHERE).code == ExitCode.DATA


def test_repos(process: Command, spec: Spec, tmp_path: Path) -> None:
    """A ref that is absent makes the spec wrong; a host that does not answer is missing here."""
    _repo(tmp_path / "app")
    repos = "repos: [{name: app, source: app, ref: absent}]\narms:"
    done = process("doctor", spec(("arms:", repos)).name, **NOWHERE)

    assert done.code == ExitCode.DATA
    assert "it has no ref 'absent'" in _line(done, "repo app")

    url = "repos: [{name: app, source: 'http://127.0.0.1:9/app.git'}]\narms:"
    done = process("doctor", spec(("arms:", url)).name, **NOWHERE)
    assert done.code == ExitCode.UNAVAILABLE
    assert _line(done, "repo app").startswith("missing repo app: http://127.0.0.1:9/app.git cannot be used: ")


@pytest.mark.engine
def test_limits_are_held_against_the_machine(tiltyard: Command, spec: Spec) -> None:
    done = tiltyard("doctor", spec(("defaults:", "limits: {cpus: 1000}\ndefaults:")).name)

    assert done.code == ExitCode.UNAVAILABLE
    assert "asks for 1000 processors" in _line(done, "limits: ")


@pytest.mark.engine
def test_leftovers_are_counted_and_left(
    process: Command, engine: docker.DockerClient, image_builder: Any
) -> None:
    """A container whose owner has died: its process began at another time than the one with its id."""
    here = Owner.current()
    dead = Owner(machine=here.machine, pid=os.getpid(), started="1")
    labels = dead.labels(trial=f"doctor-{uuid.uuid4().hex[:8]}", role="run")
    left = engine.api.create_container(image_builder.base().id, ["true"], labels=labels)["Id"]
    try:
        done = process("doctor")
        engine.api.inspect_container(left)
    finally:
        engine.api.remove_container(left, force=True)

    assert done.code == 0
    assert _line(done, "leftovers: ").startswith("note    leftovers: ")


@pytest.mark.engine
def test_layers_are_found_as_a_builder_would(
    engine: docker.DockerClient, image_builder: Any, cache_dir: Path
) -> None:
    finder = ImageFinder(engine, cache_dir)

    assert finder.base().id == image_builder.base().id
    assert finder.forwarder().id == image_builder.forwarder().id
    assert not finder.missing


def test_refs_are_looked_up_where_they_are(tmp_path: Path) -> None:
    """Branches, annotated tags, commits that nothing names."""
    repo = tmp_path / "app"
    head = _repo(repo)
    _git(repo, "tag", "-a", "-m", "first", "v1")
    _git(repo, "commit", "-q", "--allow-empty", "-m", "lost")
    lost = _git(repo, "rev-parse", "HEAD")
    _git(repo, "reset", "-q", "--hard", head)

    for ref, commit in ((None, head), ("v1", head), ("main", head), ("refs/tags/v1", head), (lost, lost)):
        found = look_up(str(repo), ref)
        assert found is not None
        assert found.commit == commit, ref
    with pytest.raises(RepoError, match="no ref 'v2'"):
        look_up(str(repo), "v2")
    with pytest.raises(RepoError, match="no ref"):
        look_up(str(repo), "0" * 40)


def _repo(folder: Path) -> str:
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *args: str) -> str:
    names = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    done = subprocess.run(["git", *names, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()
