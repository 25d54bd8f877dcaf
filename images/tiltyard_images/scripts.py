"""The shell scripts that run as root in a build container, in /workspace.

They use plumbing commands of git alone: no hook of the repository runs, and no configuration counts.
"""

from tiltyard_images.gitdata import IDENTITY, MESSAGE
from tiltyard_images.hostenv import BUILD_DIR, HostEnv
from tiltyard_images.model import AGENT_UID, History

GIT_ENV = {**IDENTITY, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_LFS_SKIP_SMUDGE": "1"}

OWN = r"""
# Without edits the tree belongs to root, yet all of it can be read. `.git` is the agent's in any case:
# some CLIs write there.
find . -path ./.git -prune -o \( ! -user "$OWNER" -o ! -group "$OWNER" \) -exec chown -h "$OWNER:$OWNER" {} +
find . -path ./.git -prune -o ! -type l ! -perm -u=rw,go=r -exec chmod u+rw,go+r {} +
find . -path ./.git -prune -o -type d ! -perm -755 -exec chmod 755 {} +
if [ "$OWNER" = 0 ]; then
  find . -path ./.git -prune -o ! -type l -perm /022 -exec chmod go-w {} +
fi
find .git \( ! -user "$AGENT" -o ! -group "$AGENT" \) -exec chown -h "$AGENT:$AGENT" {} +
"""

CHECK_OUT = rf"""
set -eu
git -c core.logAllRefUpdates=false read-tree -u --reset HEAD
{OWN}
"""

BASELINE_NONE = r"""
# What the arm added belongs to the one commit. Objects that nothing reaches any more must go: they could hold
# what setup fetched or removed.
tidy() { [ "$(git count-objects -v | grep -cE '^(count: 0|packs: 1|garbage: 0)$')" = 3 ]; }
if [ "$tree" != "$(git rev-parse --verify --quiet 'HEAD^{tree}')" ] || ! tidy; then
  commit=$(git commit-tree "$tree" -m "$MESSAGE")
  git symbolic-ref HEAD refs/heads/main
  git for-each-ref --format='delete %(refname)' | git update-ref --stdin
  git update-ref refs/heads/main "$commit"
  git remote | xargs -r -n 1 git remote remove
  rm -rf .git/logs .git/ORIG_HEAD .git/FETCH_HEAD .git/COMMIT_EDITMSG .git/shallow .git/refs/stash
  git repack -a -d -q
  git prune --expire=now
fi
"""

BASELINE_FULL = r"""
# What the arm added becomes one commit on top, so that the agent's diff shows the agent's work alone.
if [ "$tree" != "$(git rev-parse --verify --quiet 'HEAD^{tree}')" ]; then
  date=$(git show --no-patch --format=%cI HEAD)
  export GIT_AUTHOR_DATE="$date" GIT_COMMITTER_DATE="$date"
  git update-ref HEAD "$(git commit-tree "$tree" -p HEAD -m 'Set up the workspace')"
fi
"""


def baseline(history: History) -> str:
    """Return the script that makes the tree as it stands the point that the agent starts from."""
    commit = BASELINE_NONE if history == "none" else BASELINE_FULL
    return f"""
set -eu
git() {{ command git -c core.logAllRefUpdates=false -c core.hooksPath=/dev/null "$@"; }}
[ -d .git ] || git init --quiet --template= --initial-branch=main
rm -f .git/index.lock
mkdir -p {BUILD_DIR}
printf '%s\\n' __pycache__/ .pytest_cache/ .mypy_cache/ .ruff_cache/ > {BUILD_DIR}/caches
git -c core.excludesFile={BUILD_DIR}/caches add --all
tree=$(git write-tree)
{commit}
{OWN}
"""


def script_env(*, writable: bool) -> dict[str, str]:
    """Return the variables that the scripts read."""
    return {
        **GIT_ENV,
        "OWNER": str(AGENT_UID if writable else 0),
        "AGENT": str(AGENT_UID),
        "MESSAGE": MESSAGE,
    }


def setup_env(host: HostEnv, own: dict[str, str]) -> dict[str, str]:
    """Return the environment of `prepare` and `setup`: this machine's settings, then the arm's own."""
    return {**host.variables(), "DEBIAN_FRONTEND": "noninteractive", **own}
