#!/bin/sh
# Installs mmdebstrap, which makes the base image where no registry gives Debian. Quick when it is there.
#
#   infra/host-tools.sh             mmdebstrap
#   infra/host-tools.sh --tests     as well docker-compose and systemd-analyze, which check files of infra/, and
#                                   docker-registry, a registry that tests start themselves
#
# Where mmdebstrap cannot be installed nothing fails yet: the base image may be pulled, and `tiltyard images bootstrap`
# says what is missing.
set -u

say() { echo "host-tools: $*"; }

# An ordinary user bootstraps in a user namespace and needs newuidmap as well.
complete() {
  command -v mmdebstrap >/dev/null && { [ "$(id -u)" = 0 ] || command -v newuidmap >/dev/null; }
}

packages="mmdebstrap uidmap debian-archive-keyring"
if [ "${1:-}" = --tests ]; then
  command -v docker-compose >/dev/null || packages="$packages docker-compose"
  command -v systemd-analyze >/dev/null || packages="$packages systemd"
  command -v docker-registry >/dev/null || packages="$packages docker-registry"
fi
complete && [ "$packages" = "mmdebstrap uidmap debian-archive-keyring" ] && exit 0
if ! command -v apt-get >/dev/null; then
  say "mmdebstrap is missing and there is no apt-get; the base image can only be pulled"
  exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
# Its package would start it as a service of this machine. (`systemctl unmask docker-registry` undoes this.)
case $packages in
*docker-registry*) [ ! -d /run/systemd/system ] || $sudo systemctl mask --quiet docker-registry.service || true ;;
esac
say "installing $packages (some seconds)"
$sudo apt-get update -q >/dev/null || say "apt-get update reported errors; trying all the same"
# shellcheck disable=SC2086  # packages are words
$sudo env DEBIAN_FRONTEND=noninteractive \
  apt-get install -yq --no-install-recommends $packages >/dev/null ||
  say "apt-get could not install them all; without mmdebstrap the base image can only be pulled"
