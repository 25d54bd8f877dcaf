"""The gateway's life: it ends with its driver, whatever ends the driver, and leaves nothing behind."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider
from tiltyard_gateway import GatewayConfig, GatewayProcess, Upstream, read_journal, settle_journal
from tiltyard_gateway.client import remove_stale_folders
from tiltyard_specs.errors import DataError, UnavailableError, UsageError

pytestmark = pytest.mark.slow  # many processes


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_sockets_are_private_but_for_the_slots(gateway: GatewayProcess, agent: Agent) -> None:
    assert stat.S_IMODE(gateway.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((gateway.folder / "control.sock").stat().st_mode) == 0o600
    assert stat.S_IMODE(agent.socket.parent.stat().st_mode) == 0o755
    assert stat.S_IMODE(agent.socket.stat().st_mode) == 0o666
    assert len(str(agent.socket)) < 100


def test_the_end_leaves_neither_process_nor_folder(config: GatewayConfig) -> None:
    with GatewayProcess(config) as gateway:
        folder, pid = gateway.folder, gateway.pid
        gateway.open_slot("a")
        assert gateway.alive()

    assert not folder.exists()
    assert gone(pid)


def test_keys_stand_in_no_argument_environment_or_file(
    gateway: GatewayProcess, kit: type[Kit], agent: Agent
) -> None:
    seen = [Path(f"/proc/{gateway.pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
    files = [path.read_bytes() for path in gateway.folder.rglob("*") if path.is_file()]

    assert agent.message().status == 200
    assert not any(kit.REAL_KEY.encode() in data for data in seen + files)


def test_the_drivers_own_keys_are_not_handed_down(
    config: GatewayConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real-key-of-the-user")
    with GatewayProcess(config) as gateway:
        assert b"real-key-of-the-user" not in Path(f"/proc/{gateway.pid}/environ").read_bytes()


def test_repr_of_configuration_and_ticket_hide_keys(
    config: GatewayConfig, kit: type[Kit], calls_path: Path
) -> None:
    text = repr(config) + repr(kit.ticket(calls_path)) + str(config)

    assert kit.REAL_KEY not in text
    assert kit.PLACEBO not in text


def test_ctrl_c_does_not_end_it_and_sigterm_does(config: GatewayConfig, kit: type[Kit]) -> None:
    with GatewayProcess(config) as gateway:
        os.kill(gateway.pid, signal.SIGINT)
        time.sleep(0.2)
        assert gateway.alive()
        os.kill(gateway.pid, signal.SIGTERM)
        kit.wait_until(lambda: gone(gateway.pid))

        assert not gateway.folder.exists()
        assert not gateway.alive()
        with pytest.raises(UnavailableError, match="the gateway does not answer"):
            gateway.open_slot("0")


DRIVER = """
    import sys, time
    from pathlib import Path
    from tiltyard_gateway import GatewayConfig, GatewayProcess, RunTicket
    config = GatewayConfig.model_validate_json(sys.stdin.readline())
    with GatewayProcess(config) as gateway:
        folder = gateway.open_slot("0")
        journal = Path(sys.argv[1])
        gateway.begin("0", RunTicket(run_id="r", placebo_key="sk-placebo-run-1", calls_path=journal))
        print(gateway.pid, folder, flush=True)
        time.sleep(60)
"""


def test_a_killed_driver_takes_its_gateway_along_and_loses_no_paid_call(
    provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    """SIGKILL of the driver: what had settled is on disk, what was in flight is settled, nothing is left."""
    journal = tmp_path / "calls.jsonl"
    driver = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DRIVER), str(journal)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with driver:
        upstream = {"base_url": provider.url + "/v1", "key": kit.REAL_KEY}
        driver.stdin.write(json.dumps({"upstreams": {"anthropic": upstream}}) + "\n")
        driver.stdin.flush()
        pid, folder = driver.stdout.readline().split()
        agent = kit.Agent(Path(folder) / "gw.sock")
        assert agent.message().status == 200

        def behaviour(exchange: Exchange) -> None:
            exchange.begin_stream()
            exchange.chunk(kit.STREAM[0])
            time.sleep(5)

        provider.behaviour = behaviour
        agent.begin("POST", "/v1/messages", kit.message_body(stream=True)).getresponse().read1(10)
        driver.kill()
        kit.wait_until(lambda: gone(int(pid)))

    assert not Path(folder).parent.exists()
    assert [call.outcome for call in read_journal(journal)] == ["ok", "hung_up"]


def test_a_killed_gateway_leaves_word_of_calls_in_flight(
    config: GatewayConfig, provider: Provider, kit: type[Kit], calls_path: Path
) -> None:
    """Nobody settles them any more: they are counted as unknown, with their reserve as the bound."""
    beside = calls_path.with_name("calls.jsonl.begun")
    good, release = provider.behaviour, threading.Event()

    def stall(exchange: Exchange) -> None:
        release.wait(60)
        exchange.break_off()

    with GatewayProcess(config) as gateway:
        upstream = Upstream(base_url=provider.url + "/v1", key=kit.REAL_KEY)
        agent = kit.Agent(gateway.open_slot("0") / "gw.sock")
        gateway.begin("0", kit.ticket(calls_path, anthropic=upstream))
        assert agent.message().status == 200
        assert beside.read_bytes() == b""
        provider.behaviour = stall
        for _ in range(2):
            agent.begin("POST", "/v1/messages", kit.message_body())
        kit.wait_until(lambda: len(provider.received) == 3)
        reserved = gateway.spent().reserved_tokens
        provider.behaviour = good
        assert agent.message().status == 200
        os.kill(gateway.pid, signal.SIGKILL)
        kit.wait_until(lambda: gone(gateway.pid))
    release.set()
    calls = settle_journal(calls_path)

    assert [call.outcome for call in calls] == ["ok", "hung_up", "hung_up", "ok"]
    assert [call.charged for call in calls] == ["usage", "reserve", "reserve", "usage"]
    assert sum(call.charged_tokens or 0 for call in calls[1:3]) == reserved
    assert {call.message for call in calls[1:3]} == {"the gateway was killed before the answer was whole"}
    assert not beside.exists()
    assert read_journal(calls_path) == calls
    assert settle_journal(calls_path) == calls


def test_a_settled_run_leaves_one_file(agent: Agent, gateway: GatewayProcess, calls_path: Path) -> None:
    assert agent.message().status == 200
    gateway.end("0")

    assert [path.name for path in calls_path.parent.iterdir()] == ["calls.jsonl"]


def test_a_gateway_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(UnavailableError, match="the gateway did not start"), GatewayProcess(GatewayConfig()):
        pass


def test_a_failed_start_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(UnavailableError), GatewayProcess(GatewayConfig()):
        pass

    assert not list(tmp_path.iterdir())


def test_a_folder_of_ones_own_is_made_and_removed(config: GatewayConfig, tmp_path: Path) -> None:
    folder = Path("/tmp") / f"ty-{os.getpid()}"
    with GatewayProcess(config.model_copy(update={"folder": folder})) as gateway:
        assert gateway.open_slot("0") == folder / "0"

    assert not folder.exists()
    with (
        pytest.raises(UsageError, match="exists already"),
        GatewayProcess(config.model_copy(update={"folder": tmp_path})),
    ):
        pass
    assert tmp_path.exists()


def test_folders_of_dead_gateways_are_removed_and_living_ones_kept(config: GatewayConfig) -> None:
    """In a parent of their own: to others' gateways that just start, the time to come would be the end."""
    with tempfile.TemporaryDirectory(prefix="ty-", dir="/tmp") as name:
        parent = Path(name)
        stale = parent / "tiltyard-gw-stale-test"
        stale.mkdir()
        (stale / "control.sock").touch()
        living = config.model_copy(update={"folder": parent / "tiltyard-gw-living"})
        with GatewayProcess(living) as gateway:
            remove_stale_folders(parent, now=time.time())
            assert stale.exists(), "a folder as young as this may belong to a gateway that is starting"
            remove_stale_folders(parent, now=time.time() + 3600)

            assert not stale.exists()
            assert gateway.alive()


def test_many_busy_slots_end_at_once_and_settled(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    """Whoever waits for the gateway kills it after 10 s: no call may be unsettled by then."""

    def behaviour(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.chunk(kit.STREAM[0])
        time.sleep(5)

    provider.behaviour = behaviour
    with GatewayProcess(config) as gateway:
        for slot in map(str, range(20)):
            folder = gateway.open_slot(slot)
            gateway.begin(slot, kit.ticket(tmp_path / f"{slot}.jsonl"))
            agent = kit.Agent(folder / "gw.sock")
            agent.ask("GET", "/")
            agent.begin("POST", "/v1/messages", kit.message_body(stream=True)).getresponse().read1(10)
        started = time.monotonic()
    seconds = time.monotonic() - started

    assert seconds < 4
    for slot in range(20):
        calls = read_journal(tmp_path / f"{slot}.jsonl")
        assert [call.outcome for call in calls] == ["free", "hung_up"]


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (lambda gateway: gateway.open_slot("../x"), "slot name"),
        (lambda gateway: gateway.open_slot("0"), "open already"),
        (lambda gateway: gateway.end("1"), "slot 1 is not open"),
        (lambda gateway: gateway.close_slot("7"), "slot 7 is not open"),
    ],
)
def test_misuse_is_told_in_a_sentence(
    gateway: GatewayProcess, command: Callable[[GatewayProcess], object], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        command(gateway)


@pytest.mark.usefixtures("agent")
def test_a_slot_has_one_run_at_a_time(gateway: GatewayProcess, kit: type[Kit], calls_path: Path) -> None:
    with pytest.raises(UsageError, match="owned by run run-1"):
        gateway.begin("0", kit.ticket(calls_path))
    gateway.end("0")
    with pytest.raises(UsageError, match="has no run"):
        gateway.end("0")


def test_a_calls_file_that_cannot_be_opened_is_named(
    gateway: GatewayProcess, kit: type[Kit], tmp_path: Path
) -> None:
    gateway.open_slot("0")
    missing = tmp_path / "no" / "calls.jsonl"
    with pytest.raises(UnavailableError, match=re.escape(str(missing))):
        gateway.begin("0", kit.ticket(missing))


def test_a_closed_slot_is_gone_and_can_be_opened_again(
    gateway: GatewayProcess, agent: Agent, kit: type[Kit], calls_path: Path
) -> None:
    gateway.close_slot("0")
    assert not agent.socket.parent.exists()
    gateway.open_slot("0")
    gateway.begin("0", kit.ticket(calls_path))

    assert agent.message().status == 200


def test_a_torn_last_line_of_a_journal_is_left_out(
    agent: Agent, gateway: GatewayProcess, calls_path: Path
) -> None:
    agent.message()
    calls = gateway.end("0").calls
    with calls_path.open("a") as file:
        file.write('{"index": 2, "star')

    assert read_journal(calls_path) == calls
    calls_path.write_text('{"index": 1}\n')
    with pytest.raises(DataError, match="no recorded call"):
        read_journal(calls_path)
