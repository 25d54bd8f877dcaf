#!/bin/sh
# Sees to a running Docker engine at the default socket: checks, installs, starts, waits. Quick when one runs.
#
#   infra/engine.sh
#
# Where DOCKER_HOST names another engine, that one is only checked. Needs python3; installing and starting need
# root or sudo. Exit status: 0 an engine answers, 69 none does.
#
# An engine of one's own, for tests and several engines on a machine (each in its own network namespace):
#   TILTYARD_ENGINE_ROOT   a folder for its data, state, socket, pid file and log
#   TILTYARD_ENGINE_ARGS   further arguments for dockerd
#   TILTYARD_ENGINE_WAIT   seconds to wait for an answer (60)
set -u

if [ -n "${TILTYARD_ENGINE_ROOT:-}" ]; then
  socket=$TILTYARD_ENGINE_ROOT/docker.sock
  pid_file=$TILTYARD_ENGINE_ROOT/docker.pid
  state=$TILTYARD_ENGINE_ROOT/exec
  log=$TILTYARD_ENGINE_ROOT/dockerd.log
  options="-H unix://$socket --data-root $TILTYARD_ENGINE_ROOT/data --exec-root $state --pidfile $pid_file"
else
  socket=/var/run/docker.sock
  pid_file=/var/run/docker.pid
  state=/var/run/docker
  log=/var/log/tiltyard-dockerd.log
  options=""
fi
options="$options ${TILTYARD_ENGINE_ARGS:-}"
wait=${TILTYARD_ENGINE_WAIT:-60}
sudo=""

say() { echo "engine: $*"; }

fail() {
  echo "engine: $*" >&2
  exit 69
}

# Prints `ok VERSION`, `denied` or `none`: no docker command and no curl is needed for that.
ping_engine() {
  python3 - "$1" <<'PYTHON'
import http.client, json, socket, sys
from urllib.parse import urlsplit

where = urlsplit(sys.argv[1])

class Connection(http.client.HTTPConnection):
    def connect(self):
        if where.scheme == "unix":
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(10)
            self.sock.connect(where.path)
        else:
            self.sock = socket.create_connection((where.hostname, where.port or 2375), 10)

try:
    connection = Connection("engine")
    connection.request("GET", "/version")
    print("ok", json.load(connection.getresponse())["Version"])
except PermissionError:
    print("denied")
except (OSError, ValueError, KeyError, http.client.HTTPException):
    print("none")
PYTHON
}

check_named() {
  case $DOCKER_HOST in
    unix://* | tcp://* | http://*)
      if [ -z "${DOCKER_TLS_VERIFY:-}" ]; then
        answer=$(ping_engine "$DOCKER_HOST")
      elif docker version >/dev/null 2>&1; then
        answer="ok"
      else
        answer="none"
      fi
      ;;
    *) if docker version >/dev/null 2>&1; then answer="ok"; else answer="none"; fi ;;
  esac
  case $answer in
    ok*) say "the engine that DOCKER_HOST names answers (${answer#ok }, $DOCKER_HOST)" ;;
    denied) fail "this user may not talk to the engine that DOCKER_HOST names ($DOCKER_HOST)." ;;
    *) fail "no engine answers at DOCKER_HOST=$DOCKER_HOST: correct it, or unset it to use one on this machine." ;;
  esac
}

deny() {
  fail "an engine runs, but the user $(id -un) may not use $socket:" \
    "run 'sudo usermod -aG docker $(id -un)', log in again, then try again."
}

become_root() {
  [ "$(id -u)" = 0 ] && return
  command -v sudo >/dev/null || fail "no engine runs, and starting one needs root or sudo: run this as root."
  say "starting an engine needs root; asking sudo"
  sudo -v || fail "sudo refused: run this as root, or ask an administrator to start Docker."
  sudo=sudo
}

install_engine() {
  command -v dockerd >/dev/null || [ -x /usr/sbin/dockerd ] && return
  command -v apt-get >/dev/null ||
    fail "Docker is not installed, and this machine has no apt-get: install Docker by hand, then try again."
  say "installing docker.io and iptables (about 15 s)"
  $sudo apt-get update -q >/dev/null || say "apt-get update reported errors; trying all the same"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends docker.io iptables ||
    fail "apt-get could not install docker.io: see its messages above."
}

# True if the process that a pid file names is alive and is the program that wrote it. A killed one that nobody
# has waited for yet keeps its entry, as a zombie.
alive() {
  pid=$($sudo cat "$1" 2>/dev/null) && [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] &&
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status"
}

# A killed engine leaves files that stop the next one: its own pid file, and containerd's, whose number some
# other process may have by now.
remove_stale() {
  if ! alive "$pid_file" dockerd; then
    $sudo rm -f "$pid_file" "$socket"
  fi
  if ! alive "$state/containerd/containerd.pid" containerd; then
    $sudo rm -f "$state/containerd/containerd.pid" "$state/containerd/containerd.sock" \
      "$state/containerd/containerd.sock.ttrpc" "$state/containerd/containerd-debug.sock"
  fi
}

managed() {
  [ -z "${TILTYARD_ENGINE_ROOT:-}" ] && [ -d /run/systemd/system ] && systemctl cat docker.service >/dev/null 2>&1
}

start_engine() {
  if managed; then
    say "starting docker.service"
    $sudo systemctl start docker.service || say "systemctl could not start docker.service"
    return
  fi
  if alive "$pid_file" dockerd; then
    say "dockerd runs as process $pid but does not answer yet"
    return
  fi
  remove_stale
  say "starting dockerd; its log is $log"
  # shellcheck disable=SC2086  # options are words
  $sudo sh -c 'log=$1; shift; PATH=$PATH:/usr/sbin:/sbin setsid dockerd "$@" >>"$log" 2>&1 </dev/null &' \
    start "$log" $options
}

# Waits for an answer; gives up early once dockerd is gone.
wait_for_engine() {
  waited=0
  while [ "$waited" -lt "$wait" ]; do
    answer=$(ping_engine "unix://$socket")
    [ "$answer" != none ] && return 0
    if [ "$waited" -ge 3 ] && ! managed && ! alive "$pid_file" dockerd; then
      return 1
    fi
    sleep 1
    waited=$((waited + 1))
    [ $((waited % 5)) = 0 ] && say "waiting for the engine ($waited s)"
  done
  return 1
}

last_lines() {
  if managed; then
    $sudo journalctl --no-pager -u docker.service -n 20
  else
    $sudo grep -v level=info "$log" | tail -n 15
  fi >&2 2>/dev/null
}

main() {
  command -v python3 >/dev/null || fail "python3 is missing: install it (apt-get install python3)."
  if [ -n "${DOCKER_HOST:-}" ] && [ "$DOCKER_HOST" != "unix://$socket" ]; then
    check_named
    return
  fi
  answer=$(ping_engine "unix://$socket")
  if [ "$answer" = none ]; then
    become_root
    install_engine
    start_engine
    if ! wait_for_engine; then
      say "no answer; clearing what is stale and trying once more"
      start_engine
      wait_for_engine
    fi
  fi
  case $answer in
    ok*) say "Docker ${answer#ok } answers at $socket" ;;
    denied) deny ;;
    *)
      last_lines
      fail "Docker could not be started: nothing answers at $socket after up to $wait s." \
        "The last lines of its log are above; the whole is in $log."
      ;;
  esac
}

main
