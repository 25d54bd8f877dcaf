"""What an arm adds: files, commands, their place in the baseline, and what never stays."""

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from tiltyard_images import ArmContent, Image, SetupFailedError, TreeFile

pytestmark = pytest.mark.engine
Shell = Callable[..., str]


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("overlay")
    (root / "docs").mkdir()
    (root / "docs" / "guide.md").write_text(f"guide {secrets.token_hex(8)}\n")
    (root / "a.py").write_text("print('overlaid')\n")
    (root / "tool").write_text("#!/bin/sh\necho tool\n")
    (root / "tool").chmod(0o700)
    (root / "link").symlink_to("tool")
    return root


@pytest.fixture(scope="module")
def content(overlay: Path) -> ArmContent:
    return ArmContent(
        overlay=overlay,
        files=(
            TreeFile("/workspace/.mcp/deep/conf.json", b"{}"),
            TreeFile("/home/agent/.claude/skills/acme/SKILL.md", b"skill"),
            TreeFile("/etc/acme/secretless.conf", b"conf", 0o600),
        ),
        prepare=("echo prepared > prepared.txt",),
        setup=(
            "test -f prepared.txt && printf '%s' \"$FLAVOUR\" > setup.txt && chmod 600 setup.txt",
            "echo no > ignored.log; mkdir -p pkg/__pycache__",
            "touch pkg/__pycache__/x.pyc pkg/m.py; chmod 777 pkg",
            "env > /tmp/env; mv /tmp/env /opt/build-env",
        ),
        env={"FLAVOUR": "mint"},
        writable=True,
        history="none",
    )


@pytest.fixture(scope="module")
def open_arm(base, recorder, checkout, content: ArmContent) -> Image:
    below = recorder.keep(recorder.builder.workspace(base, checkout, writable=True, history="none"))
    return recorder.keep(recorder.builder.arm(below, content))


@pytest.fixture(scope="module")
def closed_arm(base, recorder, checkout, content: ArmContent) -> Image:
    below = recorder.keep(recorder.builder.workspace(base, checkout, writable=False, history="full"))
    return recorder.keep(recorder.builder.arm(below, replace(content, writable=False, history="full")))


def test_overlay_files_and_commands_land_in_the_tree(open_arm: Image, shell: Shell) -> None:
    assert (
        shell(open_arm, "python3 a.py; ./link; cat prepared.txt setup.txt")
        == "overlaid\ntool\nprepared\nmint"
    )
    assert (
        shell(open_arm, "cat docs/x.md .mcp/deep/conf.json /home/agent/.claude/skills/acme/SKILL.md")
        == "x\n{}skill"
    )


def test_what_the_arm_added_is_part_of_the_one_commit(open_arm: Image, shell: Shell) -> None:
    assert shell(open_arm, "git status --short") == "?? pkg/__pycache__/"
    assert shell(open_arm, "git log --all --format='%s %P'") == "Initial commit"
    assert shell(open_arm, "git fsck --full --unreachable --no-reflogs 2>&1; git reflog") == ""
    assert shell(open_arm, "git cat-file --batch-all-objects --batch-check | grep -c commit") == "1"
    assert "setup.txt" in shell(open_arm, "git ls-files")
    assert "print(2)" not in shell(
        open_arm, "for o in $(git rev-list --objects --all | cut -d' ' -f1); do git cat-file -p $o; done"
    )


def test_with_full_history_the_arm_is_one_commit_on_top(closed_arm: Image, origin, shell: Shell) -> None:
    assert shell(closed_arm, "git log --format=%s") == "Set up the workspace\nsecond\nfirst"
    assert shell(closed_arm, "git rev-parse HEAD~1") == origin.git("rev-parse", "v2")
    assert "prepared.txt" in shell(closed_arm, "git show --stat HEAD")


def test_ignored_files_stay_untracked_and_present(open_arm: Image, shell: Shell) -> None:
    assert shell(open_arm, "cat ignored.log; git ls-files ignored.log __pycache__") == "no"


def test_owners_follow_the_rule_after_setup(open_arm: Image, closed_arm: Image, shell: Shell) -> None:
    assert shell(open_arm, "find . ! -user agent") == ""
    assert (
        shell(closed_arm, "find . -path ./.git -prune -o ! -user root -print; find .git ! -user agent") == ""
    )
    assert shell(closed_arm, "cat setup.txt; touch pkg/new 2>/dev/null || echo ' refused'") == "mint refused"
    assert shell(closed_arm, "find . -path ./.git -prune -o ! -type l -perm /022 -print") == ""


def test_files_in_the_agents_home_are_the_agents(open_arm: Image, shell: Shell) -> None:
    assert shell(open_arm, "find /home/agent ! -user agent; touch /home/agent/.claude/skills/new") == ""
    assert shell(open_arm, "stat -c '%u %a' /etc/acme/secretless.conf") == "0 600"


def test_nothing_of_this_machine_or_the_build_stays(
    client: docker.DockerClient, open_arm: Image, shell: Shell
) -> None:
    """The commands did see the settings; the image keeps neither files nor variables nor labels of them."""
    config = client.images.get(open_arm.id).attrs["Config"]

    assert "FLAVOUR=mint" in shell(open_arm, "cat /opt/build-env")
    assert "FLAVOUR" not in json.dumps(config)
    assert "_CERT" not in json.dumps(config)
    assert "proxy" not in json.dumps(config).lower()
    assert (
        shell(open_arm, "ls /run; find / -xdev -name 'tiltyard*' -not -path '/proc/*' 2>/dev/null; true")
        == "lock\n/etc/dpkg/dpkg.cfg.d/tiltyard"
    )
    assert (config["User"], config["WorkingDir"], config["Cmd"], config["Entrypoint"]) == (
        "agent",
        "/workspace",
        ["bash"],
        None,
    )
    assert config["Labels"]["tiltyard.role"] == "image"


def test_an_arm_that_adds_nothing_is_its_workspace(base, recorder) -> None:
    below = recorder.builder.workspace(base, None, writable=True, history="none")

    assert recorder.builder.arm(below, ArmContent()) == below


def test_a_failed_command_names_itself_its_status_and_its_log(
    base, recorder, client: docker.DockerClient
) -> None:
    below = recorder.builder.workspace(base, None, writable=True, history="none")
    bad = "echo the reason; exit 7"

    with pytest.raises(
        SetupFailedError, match=r"exited with 7\. Its log is .*\.log; it ends:\n(.*\n)*the reason"
    ) as caught:
        recorder.builder.arm(below, ArmContent(setup=("true", bad, "echo never")))

    assert (caught.value.command, caught.value.status, caught.value.exit_code) == (bad, 7, 3)
    assert "never" not in caught.value.log_path.read_text()
    assert not client.containers.list(
        all=True, filters={"label": ["tiltyard.role=build", "tiltyard.layer=base"]}
    )


def test_a_command_that_runs_too_long_is_ended(
    base, recorder, client: docker.DockerClient, tmp_path: Path
) -> None:
    below = recorder.builder.workspace(base, None, writable=True, history="none")
    hasty = type(recorder.builder)(client, tmp_path, timeout=1)

    with pytest.raises(SetupFailedError, match="'sleep 60' ran out of time"):
        hasty.arm(below, ArmContent(setup=("sleep 60",)))


def test_a_background_process_that_holds_the_output_does_not_hold_the_build(base, recorder) -> None:
    below = recorder.builder.workspace(base, None, writable=True, history="none")
    arm = recorder.builder.arm(below, ArmContent(setup=(f"sleep 100 & echo {secrets.token_hex(8)} > x",)))

    assert recorder.keep(arm).built


def test_a_setup_that_makes_other_refs_and_commits_leaves_one_commit(base, recorder, shell: Shell) -> None:
    below = recorder.builder.workspace(base, None, writable=True, history="none")
    make = f"echo {secrets.token_hex(8)} > s; git add s; git commit -qm s; git tag t; git branch b"
    script = f"{make}; git switch -q b; git rm -q s"
    arm = recorder.keep(recorder.builder.arm(below, ArmContent(setup=(script,))))

    assert shell(arm, "git log --all --format=%s; git tag; git branch") == "Initial commit\n* main"
    assert shell(arm, "git cat-file --batch-all-objects --batch-check | grep -c .") == "2"
    assert shell(arm, "git fsck --unreachable 2>&1") == ""


@pytest.mark.parametrize("path", ["relative", "/workspace/../etc/passwd", "/workspace/"])
def test_a_path_that_is_not_absolute_and_plain_is_refused(base, recorder, path: str) -> None:
    below = recorder.builder.workspace(base, None, writable=True, history="none")

    with pytest.raises(ValueError, match="must be absolute"):
        recorder.builder.arm(below, ArmContent(files=(TreeFile(path, b""),)))
