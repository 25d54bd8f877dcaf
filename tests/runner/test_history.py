"""What of a repository's history a run can see."""

from typing import Any

import pytest

pytestmark = [pytest.mark.engine]

LOOK = """
git log --all --oneline | wc -l
git reflog --all | wc -l
git fsck --unreachable --dangling --no-reflogs --lost-found 2>&1 | grep -c 'unreachable\\|dangling'
git for-each-ref --format='%(refname)'
git cat-file --batch-all-objects --batch | grep -ac SECRET
git stash list; git notes list 2>/dev/null; git remote -v
grep -rac SECRET . | grep -v ':0$'
ls .git/packed-refs .git/ORIG_HEAD .git/FETCH_HEAD .git/logs 2>/dev/null
git cat-file --batch-all-objects --batch-check='%(objecttype)' | grep -c commit
"""


def test_with_no_history_there_is_one_commit_and_nothing_else(bench: Any) -> None:
    answer = bench.run(LOOK, edits=False).record.answer
    assert answer.splitlines() == ["1", "0", "0", "refs/heads/main", "0", "1"]


def test_full_history_shows_ancestors_only(bench: Any, workspace: Any) -> None:
    result = bench.run(LOOK, edits=False, image=workspace(edits=False, history="full"))
    assert result.record.answer.splitlines() == ["2", "0", "0", "refs/heads/main", "1", "2"]
    later = bench.run(
        "git cat-file --batch-all-objects --batch | grep -ac SECRET-AFTER; echo end",
        edits=False,
        image=workspace(edits=False, history="full"),
    )
    assert later.record.answer == "0\nend"


def test_the_arms_setup_leaves_no_trace_of_what_it_removed(bench: Any, workspace: Any) -> None:
    setup = (
        "echo SECRET-SETUP > s.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm s",
        "git rm -q s.txt",
    )
    answer = bench.run(LOOK, edits=False, image=workspace(edits=False, setup=setup)).record.answer
    assert answer.splitlines() == ["1", "0", "0", "refs/heads/main", "0", "1"]
