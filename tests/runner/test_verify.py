"""`verify` judges what the agent left in a container that the agent never touched."""

import io
import tarfile
from typing import Any

import docker
import pytest

from tiltyard_runner.container import Container, FileToPut
from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]
HIDDEN = b"from calc import add\n\n\ndef test_hidden():\n    assert add(40, 2) == 42\n"


def test_a_solved_change_task_passes_even_without_an_answer(bench: Any) -> None:
    result = bench.run("sed -i 's/a - b/a + b/' calc.py", key=Key(verify=bench.VERIFY))
    assert (result.record.outcome, result.record.answer) == (Outcome.PASSED, None)
    assert result.record.verify.passed
    assert "1 passed" in result.text("verify.log")


@pytest.mark.parametrize(
    ("verify", "code", "log"),
    [
        ("python3 -m pytest -q tests", 1, "1 failed"),
        ("echo out; echo err >&2; exit 42", 42, "out\nerr\n"),
        ("kill -9 $$", 137, ""),
        ("no-such-checker", 127, "not found"),
        ("sleep 60 & exit 5", 5, ""),
        ("exec >&- 2>&-; sleep 1; exit 6", 6, ""),
    ],
)
def test_a_failed_verify_fails_the_run_with_its_exit_code(
    bench: Any, verify: str, code: int, log: str
) -> None:
    result = bench.run("echo I did all of it", key=Key(verify=verify, expect=("all",)))
    assert result.record.outcome is Outcome.FAILED
    assert (result.record.verify.exit_code, result.record.verify.passed) == (code, False)
    assert result.record.reason == f"verify ended with exit code {code}"
    assert log in result.text("verify.log")
    assert result.record.score.correct, "the key is scored all the same"


def test_a_verify_that_does_not_end_is_ended(bench: Any) -> None:
    result = bench.run("echo ok", key=Key(verify="echo began; sleep 300"), timeout=2.0)
    assert result.record.outcome is Outcome.FAILED
    assert result.record.verify.timed_out
    assert result.record.verify.exit_code is None
    assert result.record.reason == "verify did not end in time"
    assert result.text("verify.log") == "began\n"


def test_a_verify_that_fills_the_disk_is_ended(bench: Any) -> None:
    fill = "i=0; while :; do i=$((i+1)); head -c 1m /dev/zero > /tmp/f$i; sleep 0.01; done"
    result = bench.run("echo ok", key=Key(verify=fill), timeout=25.0)
    assert result.record.outcome is Outcome.FAILED
    assert result.record.reason == "verify was ended at the disk limit"
    assert result.record.verify.seconds < 15


def test_the_output_of_verify_is_bounded(bench: Any) -> None:
    result = bench.run("echo ok", key=Key(verify="yes | head -c 3000000"), output_limit=5000)
    assert result.record.outcome is Outcome.PASSED
    assert (result.folder / "verify.log").stat().st_size == 5000


def test_verify_gets_the_variables_of_its_run(bench: Any) -> None:
    result = bench.run("env; echo ok", key=Key(verify='echo "$TRIAL_ARM $(id -u) $HOME $(pwd)"'))
    assert result.text("verify.log") == "plain 1000 /home/agent /workspace\n"
    assert "TRIAL" not in result.record.answer, "the agent does not get them"


def test_hidden_files_appear_only_for_verify(bench: Any) -> None:
    hidden = {"tests/test_hidden.py": HIDDEN, "new/folder/data.txt": b"hidden data"}
    look = (
        "find / -name 'test_hidden*' -o -path '*/new/folder*' 2>/dev/null;"
        "grep -rl 'def test_hidden' /workspace /tmp /home; true"
    )
    verify = f"{bench.VERIFY} && cat new/folder/data.txt && stat -c %U tests/test_hidden.py"
    result = bench.run(f"{look}; {bench.FIX}", key=Key(verify=verify, hidden=hidden))
    assert result.record.outcome is Outcome.PASSED, result.text("verify.log")
    assert result.record.answer == "done"
    assert "2 passed" in result.text("verify.log")
    assert result.text("verify.log").endswith("hidden dataagent\n")
    assert result.files == {"calc.py"}


@pytest.mark.parametrize(
    "plant",
    [
        "echo 'def test_hidden(): pass' > tests/test_hidden.py; chmod 444 tests/test_hidden.py",
        "ln -s /home/agent/elsewhere tests/test_hidden.py",
        "mkdir -p tests/test_hidden.py/x; echo 1 > tests/test_hidden.py/x/y",
        "rm -r tests; ln -s /etc tests",
        "rm -r tests; echo file > tests",
        "mkdir -p tests/test_hidden.py; mkfifo tests/test_hidden.py/p",
    ],
)
def test_what_the_agent_plants_in_the_place_of_a_hidden_file_gives_way(bench: Any, plant: str) -> None:
    key = Key(verify="python3 -m pytest -q tests/test_hidden.py", hidden={"tests/test_hidden.py": HIDDEN})
    assert bench.run(f"{bench.FIX}; {plant}", key=key).record.outcome is Outcome.PASSED


def test_a_forged_test_in_the_place_of_a_hidden_one_does_not_count(bench: Any) -> None:
    key = Key(verify="python3 -m pytest -q tests/test_hidden.py", hidden={"tests/test_hidden.py": HIDDEN})
    forged = "echo 'def test_hidden(): pass' > tests/test_hidden.py; echo done"
    assert bench.run(forged, key=key).record.outcome is Outcome.FAILED


def test_what_the_agent_leaves_outside_its_tree_does_not_reach_verify(bench: Any) -> None:
    script = """
import os, site
from pathlib import Path
user = Path(site.getusersitepackages()); user.mkdir(parents=True)
forged = "import os; os._exit(0)\\n"
(user / "sitecustomize.py").write_text(forged)
(user / "usercustomize.py").write_text(forged)
Path("/home/agent/.bashrc").write_text("exit 0\\n")
Path("/tmp/tiltyard-tree.py").write_text(forged)
Path("/home/agent/.gitconfig").write_text("[alias]\\nstatus = !exit 0\\n")
print("planted")
"""
    result = bench.python(script, key=Key(verify=bench.VERIFY))
    assert result.record.outcome is Outcome.FAILED
    assert "1 failed" in result.text("verify.log")


def test_with_edits_off_the_tree_cannot_be_changed_but_git_can_write(bench: Any) -> None:
    script = """
import os, subprocess
refused = []
for name, action in {
    "write": lambda: open("calc.py", "a"),
    "create": lambda: open("new.txt", "w"),
    "delete": lambda: os.remove("crlf.txt"),
    "rename": lambda: os.rename("dir", "dir2"),
    "chmod": lambda: os.chmod("calc.py", 0o777),
    "mkdir": lambda: os.mkdir("tests/x"),
    "tree": lambda: os.rename("/workspace", "/workspace2"),
    "git data away": lambda: os.rename(".git", ".git2"),
}.items():
    try:
        action()
    except PermissionError:
        refused.append(name)
open(".git/mine", "w").write("written")
status = subprocess.run(["git", "status", "--short"], capture_output=True, text=True).stdout
print(len(refused), status, end="")
"""
    result = bench.python(script, edits=False, key=Key(verify=f"{bench.VERIFY}; id -u; git status --short"))
    assert result.record.answer == "8"
    assert result.record.patch is None
    assert result.record.outcome is Outcome.PASSED  # the last command decides
    assert "1 failed" in result.text("verify.log")
    assert result.text("verify.log").endswith("\n0\n?? __pycache__/\n?? tests/__pycache__/\n")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Option and Argument", Outcome.PASSED),
        ("Option", Outcome.FAILED),
        ("Option Argument Command", Outcome.FAILED),
        ("", Outcome.NO_ANSWER),
    ],
)
def test_an_answer_is_scored_by_its_key(bench: Any, answer: str, outcome: Outcome) -> None:
    key = Key(expect=(r"\bOption\b", r"\bArgument\b"), forbid=("Command",))
    assert bench.run(f"echo '{answer}'", edits=False, key=key).record.outcome is outcome


def test_an_ignored_file_in_the_way_of_the_agents_work_gives_way(bench: Any, workspace: Any) -> None:
    """What setup left ignored in the tree stands where the agent has put a file of its own."""
    image = workspace(setup=("mkdir -p out && touch out/a.log && chown -R 1000 out",))
    result = bench.run("rm -r out; echo mine > out; echo ok", image=image, key=Key(verify="cat out"))
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert result.text("verify.log") == "mine\n"


@pytest.mark.slow
def test_more_than_the_memory_can_compare_is_the_agents_limit(bench: Any) -> None:
    from tiltyard_runner.container import Bounds  # noqa: PLC0415

    bounds = Bounds(cpus=2, memory=48 << 20, pids=128, disk=200 << 20)
    result = bench.run("head -c 60000000 /dev/urandom > big; echo ok", bounds=bounds, key=Key(verify="true"))
    assert result.record.outcome is Outcome.LIMIT, result.record.reason
    assert "memory limit" in result.record.reason


def test_an_archive_that_breaks_off_is_not_the_agents_doing(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Container.get_archive

    def cut(container: Container, path: str) -> Any:
        return iter([b"".join(whole(container, path))[:1500]])

    monkeypatch.setattr(Container, "get_archive", cut)
    record = bench.run("echo ok", key=Key(verify="true")).record
    assert record.outcome is Outcome.INFRA
    assert "breaks off" in record.reason


def test_files_are_put_with_folders_that_their_owner_can_use(bench: Any, engine: docker.DockerClient) -> None:
    job = bench.job("true")
    made = engine.containers.create(job.image, ["true"], labels={"tiltyard.test": "put"})
    try:
        container = Container(engine, None)  # type: ignore[arg-type]  # nothing is created
        container.id = made.id
        container.put([FileToPut("/home/agent/.config/a/b.toml", b"x = 1\n", 0o600)])
        stream, _ = made.get_archive("/home/agent/.config")
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
            found = {member.name: (member.mode & 0o777, member.uid) for member in archive}
    finally:
        made.remove(force=True)
    assert found == {".config": (0o755, 1000), ".config/a": (0o755, 1000), ".config/a/b.toml": (0o600, 1000)}
