#!/usr/bin/env bash
# Makes .venv with everything in requirements/all.lock and the project itself, editable.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf 'setup: %s\n' "$*"; }

python=
for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
  if [ -n "$candidate" ] && command -v "$candidate" >/dev/null &&
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || { say "no Python 3.11 or newer was found: install one, or name it: PYTHON=/path/to/python3 make setup" >&2; exit 69; }

if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  # Debian keeps ensurepip in a package of its own.
  if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    say "installing the venv module of $python"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -qq
    $sudo apt-get install -y -qq --no-install-recommends "python$version-venv" >/dev/null
  fi
  say "making .venv with $("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv
fi
say "installing the locked dependencies (some 700 MB, a few minutes on a fresh machine)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar on --require-hashes -r requirements/all.lock
say "installing Tiltyard itself, editable"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
say "done: .venv/bin/tiltyard"
