#!/bin/sh
# Sees to mmdebstrap, which makes the base image where no registry gives Debian. Quick when it is there.
#
#   infra/bootstrap-tools.sh
#
# Installing needs root or sudo, on Debian or Ubuntu. Exit status: 0 it is there, 69 it is not.
set -u

fail() {
  echo "bootstrap-tools: $*" >&2
  exit 69
}

# An ordinary user bootstraps in a user namespace and needs newuidmap as well.
complete() {
  command -v mmdebstrap >/dev/null && { [ "$(id -u)" = 0 ] || command -v newuidmap >/dev/null; }
}

complete && exit 0
command -v apt-get >/dev/null || fail "mmdebstrap is missing, and this machine has no apt-get: install it by hand."
sudo=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || fail "mmdebstrap is missing, and installing it needs root or sudo."
  sudo=sudo
fi
echo "bootstrap-tools: installing mmdebstrap (a few seconds)"
$sudo apt-get update -q >/dev/null || echo "bootstrap-tools: apt-get update reported errors; trying all the same"
$sudo env DEBIAN_FRONTEND=noninteractive \
  apt-get install -yq --no-install-recommends mmdebstrap uidmap debian-archive-keyring >/dev/null ||
  fail "apt-get could not install mmdebstrap: see its messages above."
complete || fail "mmdebstrap was installed but is not found in PATH."
