"""The GitHub Actions example: every step of the workflow is run, on as many machines as it asks for."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.engine, pytest.mark.slow]

EXAMPLE = Path(__file__).parent.parent.parent / "specs" / "examples" / "github"

SHELLS = {"bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}
"""How GitHub starts a shell that a workflow names; one that is not named is started without pipefail."""


class Actions:
    """Runs jobs as GitHub does: a fresh folder each, and artifacts that are handed on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workflow = yaml.safe_load((EXAMPLE / "workflow.yml").read_text())
        self.summary = root / "summary.md"
        self.machines = 0

    def job(self, name: str, **matrix: object) -> str:
        """Run a job to its end; what its steps printed."""
        self.machines += 1
        here = self.root / f"machine{self.machines}"
        here.mkdir()
        return "".join(self.step(step, here, matrix) for step in self.workflow["jobs"][name]["steps"])

    def step(self, step: dict[str, Any], here: Path, matrix: dict[str, object]) -> str:
        given = {key: self.filled(str(value), matrix) for key, value in step.get("with", {}).items()}
        match step.get("uses", "").partition("@")[0]:
            case "actions/checkout":
                shutil.copy(EXAMPLE / "trial.yaml", here)
            case "actions/upload-artifact":
                self.upload(here / given["path"], self.root / "artifacts" / given["name"])
            case "actions/download-artifact":
                self.download(given, here)
            case "" if step["name"] != "Install":
                return self.bash(self.filled(step["run"], matrix), here)
        return ""

    @staticmethod
    def filled(text: str, matrix: dict[str, object]) -> str:
        return re.sub(r"\$\{\{ matrix\.(\w+) }}", lambda found: str(matrix[found[1]]), text)

    @staticmethod
    def upload(path: Path, artifact: Path) -> None:
        """Hidden files are left out, as the action does."""
        if path.is_dir():
            shutil.copytree(path, artifact, ignore=shutil.ignore_patterns(".*"))
        else:
            artifact.mkdir(parents=True)
            shutil.copy(path, artifact)

    def download(self, given: dict[str, str], here: Path) -> None:
        target = here / given.get("path", ".")
        for artifact in sorted((self.root / "artifacts").iterdir()):
            if artifact.name == given.get("name"):
                shutil.copytree(artifact, target, dirs_exist_ok=True)
            elif fnmatch.fnmatch(artifact.name, given.get("pattern", "")):
                shutil.copytree(artifact, target / artifact.name)

    def bash(self, script: str, here: Path) -> str:
        variables = {name: str(value) for name, value in self.workflow["env"].items()}
        environ = os.environ | variables | {"GITHUB_STEP_SUMMARY": str(self.summary)}
        environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
        command = [*SHELLS[self.workflow["defaults"]["run"]["shell"]], "-c", script]
        done = subprocess.run(command, cwd=here, env=environ, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


def test_the_workflow_plans_runs_merges_and_reports(engine: object, tmp_path: Path) -> None:
    actions = Actions(tmp_path)
    shards = actions.workflow["jobs"]["run"]["strategy"]["matrix"]["shard"]

    assert len(shards) == actions.workflow["env"]["SHARDS"]
    assert "12 runs in 6 blocks, cut into 3 shards" in actions.job("plan")
    for shard in shards:
        assert "4 of 4 runs recorded in shard" in actions.job("run", shard=shard)
    assert "12 expected, 12 present, 0 missing, 0 duplicate, 0 foreign" in actions.job("merge")
    assert actions.summary.read_text().startswith("# ci-trial")
    assert "PARTIAL" not in actions.summary.read_text()
    assert (tmp_path / "artifacts" / "results" / "records.parquet").exists()
