#!/usr/bin/env bash
# Installs mmdebstrap, which makes a base image where no registry answers.
set -euo pipefail
command -v mmdebstrap >/dev/null && exit 0
command -v apt-get >/dev/null || exit 0 # not Debian: the base image is pulled, or `tiltyard images bootstrap` says what is missing
printf 'host-tools: installing mmdebstrap\n'
sudo=$([ "$(id -u)" = 0 ] || echo sudo)
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
