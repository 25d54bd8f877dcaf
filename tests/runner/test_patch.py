"""The patch holds the agent's work to the last byte, whatever the agent did to tree, rules and git data."""

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]

NASTY = r"""
import os
from pathlib import Path
def write(name, content, mode=0o644):
    path = os.fsencode(name) if isinstance(name, str) else name
    os.makedirs(os.path.dirname(path) or b".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
write("new.bin", bytes(range(255, -1, -1)) * 40)
write("data.bin", b"\0changed\0")
write("crlf.txt", b"one\r\n2\r\nthree\r\n")
write("mixed.txt", b"a\r\nb\nc\r")
write("no-final-newline.txt", b"another end")
write("gained-newline.txt", b"x")
write("empty", b"")
write("tool", b"#!/bin/sh\n", 0o755)
os.chmod("run.sh", 0o644)
write("a name with spaces/and 'quotes' \"too\".txt", b"1\n")
write("tab\tand\nnewline", b"2\n")
write(b"not-utf8-\xff\xfe", b"3\n")
write("\u00e4\u00f6\u00fc-\U0001f600", b"4\n")
write("-dash", b"5\n")
write(":(top)magic*[x]", b"6\n")
write("back\\slash", b"7\n")
write("git~1", b"8\n")
write("#comment", b"9\n")
os.remove("dir/gone.txt")
os.remove("link"); os.symlink("data.bin", "link")
os.symlink("/etc/passwd", "absolute")
os.symlink("nowhere", "dangling")
os.remove("other/kept.txt"); os.rmdir("other"); write("other", b"now a file\n")
os.remove("build/tracked.txt"); write("build/tracked.txt", b"changed though ignored\n")
os.makedirs("empty-dir/deeper")
os.link("calc.py", "hard-link.py")
print("done")
"""
TREE = """
import hashlib, os, sys
root = os.fsencode(sys.argv[1])
for folder, folders, files in sorted(os.walk(root)):
    if b".git" in folder.split(b"/"):
        continue
    for name in sorted(files + [name for name in folders if os.path.islink(os.path.join(folder, name))]):
        path = os.path.join(folder, name)
        if os.path.islink(path):
            what = b"link " + os.readlink(path)
        else:
            data = open(path, "rb").read()
            mode = b"x" if os.stat(path).st_mode & 0o100 else b"-"
            what = mode + hashlib.sha256(data).hexdigest().encode()
        print(repr(os.path.relpath(path, root)), what)
"""
NASTY_AND_SHOW = f"""{NASTY}
import subprocess, sys
subprocess.run([sys.executable, "-c", {TREE!r}, "."], check=True)
"""


def test_the_patch_gives_the_same_tree_in_a_clean_checkout(bench: Any, project: Any, tmp_path: Path) -> None:
    result = bench.python(NASTY_AND_SHOW, key=Key(verify="true"))
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    left = _lines(result.record.answer)

    clean = tmp_path / "clean"
    _git(tmp_path, "clone", "-q", "--branch", "start", str(project.path), str(clean))
    _git(clean, "apply", "--whitespace=nowarn", str(result.folder / "patch.diff"))
    (tmp_path / "tree.py").write_text(TREE)
    applied = subprocess.run(
        ["python3", str(tmp_path / "tree.py"), str(clean)], capture_output=True, text=True, check=True
    )
    assert _lines(applied.stdout) == left
    assert len(left) > 25
    assert result.record.patch.sha256 == hashlib.sha256(result.patch).hexdigest()
    assert result.record.patch.bytes == len(result.patch)
    assert {"not-utf8-\\xff\\xfe", "tab\tand\nnewline", "git~1", "build/tracked.txt"} <= result.files


def test_verify_sees_the_same_tree_as_the_agent_left(bench: Any) -> None:
    verify = f"python3 - . <<'END_OF_TREE'\n{TREE}\nEND_OF_TREE"
    result = bench.python(NASTY_AND_SHOW, key=Key(verify=verify))
    assert _lines(result.text("verify.log")) == _lines(result.record.answer)


@pytest.mark.parametrize(
    "trick",
    [
        "printf '* eol=crlf ident\\n*.py filter=x -diff working-tree-encoding=UTF-16\\n' > .gitattributes",
        "printf '*\\n' > .gitignore; printf '*\\n' > dir/.gitignore",
        "printf '*\\n' > .git/info/exclude; git config core.excludesFile /dev/stdin",
        "git update-index --assume-unchanged calc.py; git update-index --skip-worktree data.bin",
        "git add -A; git commit -qm mine; git checkout -q --orphan other; rm -rf .git/objects",
        "rm -rf .git",
        "rm -rf .git; mkfifo .git",
        "rm -rf .git; ln -s /etc .git",
        "git config core.worktree /etc; git config core.fsmonitor 'touch /tmp/hooked'; echo x > .git/index",
    ],
)
def test_the_agents_git_data_and_rules_change_nothing(bench: Any, trick: str) -> None:
    result = bench.run(
        f"{bench.FIX}; printf 'a\\r\\n' > new.txt; {trick} 2>/dev/null; true", key=Key(verify=bench.VERIFY)
    )
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert {"calc.py", "new.txt"} <= result.files
    assert b"\n-    return a - b\n+    return a + b\n" in result.patch
    assert b"\n+a\r\n" in result.patch


def test_what_the_projects_own_rules_ignore_is_not_in_the_patch(bench: Any) -> None:
    result = bench.run(
        "mkdir -p build deep/build; echo x | tee build/out deep/build/out a.log kept.txt dir/b.log"
    )
    assert result.files == {"kept.txt"}


def test_a_repository_inside_the_tree_is_carried_as_files(bench: Any) -> None:
    script = """
git init -q vendor && echo v > vendor/v.txt && git -C vendor add -A && git -C vendor commit -qm v
mkdir -p Odd/.GIT && echo x > Odd/.GIT/config && echo o > Odd/o.txt
mkdir sub && echo 'gitdir: ../.git' > sub/.git && echo s > sub/s.txt
"""
    assert bench.run(script).files == {"vendor/v.txt", "Odd/o.txt", "sub/s.txt"}


def test_what_git_cannot_hold_is_left_out_and_said(bench: Any) -> None:
    script = """
import os, socket
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("sock")  # the engine itself leaves sockets out
os.symlink("calc.py", ".gitmodules")
os.link(".git/HEAD", "head-of-mine")
open("kept", "w").write("k")
"""
    result = bench.python(script)
    assert result.files == {"kept"}
    (warning,) = [text for text in result.record.warnings if "left out" in text]
    for name in ("pipe", ".gitmodules", "head-of-mine"):
        assert name in warning
    assert warning.startswith("3 paths")


def test_nothing_is_written_through_a_link(bench: Any) -> None:
    """A folder becomes a link to the root, with a file beneath it where grading would follow it."""
    script = """
rm -r dir && ln -s / dir
rm -r other && ln -s /workspace/tests other
ln -s /tmp/tiltyard escape
ls dir/etc > /dev/null && echo done
"""
    result = bench.run(
        script, key=Key(verify='test -L dir && test "$(readlink dir)" = / && test -L other && ls tests')
    )
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert result.files == {"dir", "dir/gone.txt", "other", "other/kept.txt", "escape"}
    assert result.text("verify.log") == "test_calc.py\n"


def test_unreadable_and_setuid_files_are_read_all_the_same(bench: Any) -> None:
    script = (
        "echo 1 > locked; chmod 000 locked; mkdir d; echo 2 > d/e; chmod 000 d; cp run.sh s; chmod 6755 s"
    )
    result = bench.run(script, key=Key(verify="cat locked d/e; stat -c %a s"))
    assert result.files == {"locked", "d/e", "s"}
    assert result.text("verify.log") == "1\n2\n755\n"


def test_caches_are_dropped(bench: Any) -> None:
    script = """
mkdir -p __pycache__ tests/__pycache__ .pytest_cache/v .mypy_cache
touch __pycache__/calc.cpython-311.pyc tests/__pycache__/x.pyc .pytest_cache/v/x .mypy_cache/y x.pyc
"""
    result = bench.run(script, key=Key(protect=("tests/**",)))
    assert result.files == set()
    assert result.record.tampered == ()
    assert result.patch == b""


def test_a_tracked_submodule_folder_is_an_ordinary_one(
    bench: Any, make_repo: Any, workspace: Any, tmp_path: Path
) -> None:
    repo = make_repo()
    repo.write("a.txt", "a\n")
    repo.commit("only")
    head = repo.git("rev-parse", "HEAD")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},lib")
    repo.git("commit", "--quiet", "-m", "submodule")
    from tiltyard_images import Repos  # noqa: PLC0415

    image = workspace(checkout=Repos(tmp_path / "mirror").checkout(str(repo.path)))
    assert bench.run("mkdir -p lib; echo x > lib/x; echo b > a.txt", image=image).files == {"lib/x", "a.txt"}


def _lines(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith(("b'", 'b"')))


def _git(cwd: Path, *args: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    options = ("-c", "core.protectNTFS=false", "-c", "core.autocrlf=false")
    subprocess.run(["git", *options, *args], cwd=cwd, env=env, check=True)
