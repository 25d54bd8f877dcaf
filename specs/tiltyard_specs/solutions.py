"""What a question's solution is: a patch that is applied, or the text of the right answer.

The content decides, so that the spec needs no second key.
"""

import re

_PATCH = re.compile(
    rb"diff --(?:git|cc|combined) |--- .*\n\+\+\+ |Index: .*\n=+|(?:From|commit) [0-9a-f]{40,64}\b"
)
"""How `git diff`, `diff -u`, `svn diff`, `git format-patch` and `git show` begin."""


def is_patch(content: bytes) -> bool:
    """Whether the content begins as a patch does; everything else is the text of an answer."""
    return _PATCH.match(content.lstrip()) is not None
