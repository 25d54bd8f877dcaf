#!/bin/sh
# Installs Chromium, in which the tests open pages and scripts/screenshots.py takes pictures. Quick when it is there.
#
#   infra/browser.sh
#
# Where it cannot be installed nothing fails yet: the tests that need a browser say so.
set -u

say() { echo "browser: $*"; }

command -v chromium >/dev/null && exit 0
if ! command -v apt-get >/dev/null; then
  say "chromium is missing and there is no apt-get; tests that open pages will fail"
  exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
say "installing chromium (half a minute)"
$sudo apt-get update -q >/dev/null || say "apt-get update reported errors; trying all the same"
$sudo env DEBIAN_FRONTEND=noninteractive \
  apt-get install -yq --no-install-recommends chromium fonts-dejavu-core >/dev/null ||
  say "apt-get could not install chromium; tests that open pages will fail"
