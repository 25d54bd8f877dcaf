"""A bench to try one run in one line: a tiny repository, an agent of shell commands, real containers."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard_images import ArmContent, Checkout, Image, ImageBuilder, Repos
from tiltyard_runner.agents import AgentTask
from tiltyard_runner.attempt import execute
from tiltyard_runner.container import Bounds
from tiltyard_runner.job import Job, Key, Place, RunIdentity
from tiltyard_specs.record import RunRecord

FIXED = {"GIT_AUTHOR_DATE": "2024-05-05T05:05:05Z", "GIT_COMMITTER_DATE": "2024-05-05T05:05:05Z"}
MIB = 1 << 20
POLICY: Mapping[str, object] = {"network": "sealed", "history": "none", "setup_scope": "image", "limits": {}}
CALC = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"
VERIFY = "python3 -m pytest -q -p no:cacheprovider tests"
FIX = "sed -i 's/a - b/a + b/' calc.py && echo done"


class Repo:
    """A repository whose commits are the same each time, so that images made from it are found again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=trunk")

    def git(self, *args: str) -> str:
        who = ("-c", "user.name=Tester", "-c", "user.email=tester@localhost")
        env = {**os.environ, **FIXED, "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(
            ["git", *who, *args], cwd=self.path, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, name: str, content: str | bytes) -> Path:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def commit(self, message: str) -> None:
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "-m", message)


def _make_project(path: Path) -> Repo:
    """Three commits: one before and one after the one that runs see, each with a secret."""
    repo = Repo(path)
    repo.write("secret.txt", "SECRET-BEFORE\n")
    repo.commit("before")
    (repo.path / "secret.txt").unlink()
    repo.write("calc.py", CALC)
    repo.write("tests/test_calc.py", TEST)
    repo.write("data.bin", bytes(range(256)))
    repo.write("crlf.txt", "one\r\ntwo\r\n")
    repo.write("no-final-newline.txt", "no newline at the end")
    repo.write("run.sh", "#!/bin/sh\necho hi\n").chmod(0o755)
    repo.write("dir/gone.txt", "gone\n")
    repo.write("other/kept.txt", "kept\n")
    repo.write(".gitignore", "build/\n*.log\n")
    repo.write("build/tracked.txt", "tracked though ignored\n")
    (repo.path / "link").symlink_to("calc.py")
    repo.commit("start")
    repo.git("tag", "start")
    repo.write("calc.py", CALC.replace("a - b", "a + b"))
    repo.write("answer.txt", "SECRET-AFTER\n")
    repo.commit("after")
    return repo


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return _make_project(tmp_path_factory.mktemp("project") / "repo")


@pytest.fixture(scope="session")
def project_checkout(project: Repo, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Repos(tmp_path_factory.mktemp("mirrors")).checkout(str(project.path), "start")


@dataclass(frozen=True, slots=True)
class Result:
    """A run's record and what lies beside it."""

    record: RunRecord
    folder: Path

    @property
    def patch(self) -> bytes:
        return (self.folder / "patch.diff").read_bytes()

    @property
    def files(self) -> set[str]:
        assert self.record.patch is not None
        return set(self.record.patch.files)

    def text(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode(errors="replace")


@dataclass
class Bench:
    """Runs agents of kind text; keyword arguments go to the job, its task or its key."""

    place: Place
    image: Callable[..., Image]
    tmp: Path
    done: int = 0
    jobs: list[Job] = field(default_factory=list)

    FIX = FIX
    VERIFY = VERIFY
    CALC = CALC
    TEST = TEST
    MIB = MIB

    def job(self, command: str, *, edits: bool = True, key: Key | None = None, **more: Any) -> Job:
        task = AgentTask(prompt="Do it.", command=command, edits=edits)
        task = replace(task, **more.pop("task", {}))
        image = more.pop("image", None) or self.image(edits=edits)
        identity = RunIdentity("0123456789abcdef", "tests", "q", "plain", "probe", 1, None, 0, "block-1")
        plain = {
            "kind": "text",
            "bounds": Bounds(cpus=1, memory=256 * MIB, pids=128, disk=64 * MIB),
            "timeout": 30.0,
            "output_limit": MIB,
            "trial_env": {"TRIAL_ARM": "plain", "TRIAL_ID": "t_1"},
            "policy": POLICY,
        }
        return Job(identity=identity, task=task, key=key or Key(), image=image.id, **(plain | more))

    def run(self, command: str, *, place: Place | None = None, **more: Any) -> Result:
        job = self.job(command, **more)
        self.done += 1
        folder = self.tmp / f"run-{self.done}"
        folder.mkdir()
        return Result(execute(job, 1, place or self.place, folder), folder)

    def python(self, script: str, **more: Any) -> Result:
        return self.run(f"python3 - <<'END_OF_SCRIPT'\n{script}\nEND_OF_SCRIPT", **more)


@pytest.fixture(scope="session")
def workspace(image_builder: ImageBuilder, project_checkout: Checkout) -> Callable[..., Image]:
    """The image of the project, or of another checkout, with or without edits."""

    def make(
        *,
        edits: bool = True,
        history: Any = "none",
        checkout: Checkout | None = None,
        setup: Sequence[str] = (),
    ) -> Image:
        base = image_builder.base()
        image = image_builder.workspace(base, checkout or project_checkout, writable=edits, history=history)
        return image_builder.arm(image, ArmContent(setup=tuple(setup), writable=edits, history=history))

    return make


@pytest.fixture
def bench(place: Place, workspace: Callable[..., Image], tmp_path: Path) -> Bench:
    return Bench(place, workspace, tmp_path)


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[[], Repo]:
    """A further repository, empty."""
    return lambda: Repo(tmp_path / "repo")
