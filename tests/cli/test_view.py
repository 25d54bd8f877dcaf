"""`tiltyard view`: loopback alone, no file but the pages, and new results as they come."""

import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from tiltyard_cli.serving import open_server
from tiltyard_cli.site_source import LiveSite, load_site, signature
from tiltyard_cluster import FolderStore
from tiltyard_report.site import Site
from tiltyard_specs.errors import UnavailableError

TILTYARD = str(Path(sys.executable).with_name("tiltyard"))
Ask = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def whole(sample: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up result of two questions."""
    folder = tmp_path_factory.mktemp("whole") / "results"
    sample.write_sample(folder, 2, 2)
    return folder


@pytest.fixture
def results(whole: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(whole, tmp_path / "results"))


@pytest.fixture
def served(results: Path) -> Iterator[Ask]:
    """The result, served; asks for a path."""
    store = FolderStore(results)
    site = LiveSite(partial(load_site, str(results), store, None), partial(signature, store))
    with open_server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        port = server.server_address[1]

        def ask(path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, text

        yield ask
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_pages_and_nothing_else_are_served(served: Ask, results: Path) -> None:
    """Neither the files of the result nor what lies outside of it."""
    (results.parent / "secret.html").write_text("secret")

    assert served("/arm/docs.html?agent=claude")[0] == 200
    assert "<h1>Arm" in served("/arm/docs.html")[1]
    paths = "/trial.json /runs/ /../secret.html /..%2fsecret.html /%2e%2e/secret.html //etc/passwd /%00"
    for path in (*paths.split(), "/run/../../secret.html", "/index.html/", "http://127.0.0.1/secret.html"):
        assert served(path) == (404, "There is no such page.\n"), path
    assert served("/arm/docs.html", method="POST")[0] == 501


@pytest.mark.slow
def test_a_page_elsewhere_cannot_ask_under_its_own_name(served: Ask) -> None:
    """DNS rebinding: the name in Host is not ours."""
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost", "127.0.0.1:1"):
        code, text = served("/arm/docs.html", host)
        assert code == 421, host
        assert "docs" not in text


@pytest.mark.slow
def test_new_results_show_up(served: Ask, results: Path, sample: ModuleType) -> None:
    """A run that is recorded while the pages are served; until then its page is missing."""
    taken = next(results.glob("runs/*/docs/claude/2/run.json"))
    path = "/run/" + str(taken.parent.relative_to(results / "runs")) + ".html"
    text = taken.read_text()
    before = served("/_version")
    assert served(path)[0] == 200

    taken.unlink()
    assert _until(lambda: served(path)[0] == 404)
    gone = served("/_version")
    taken.write_text(text)

    assert _until(lambda: served(path)[0] == 200)
    assert gone not in {before, served("/_version")}


@pytest.mark.slow
def test_a_record_that_is_written_again_shows_up(served: Ask, results: Path) -> None:
    """A run that was opened again and ended otherwise: same name, same size, other content."""
    record = next(results.glob("runs/*/docs/claude/2/run.json"))
    page = "/run/" + str(record.parent.relative_to(results / "runs")) + ".html"
    text = record.read_text()
    answer = json.loads(text)["answer"]
    assert answer in served(page)[1]

    FolderStore(results).put(
        record.relative_to(results).as_posix(), text.replace(answer, answer.swapcase()).encode()
    )

    assert _until(lambda: answer.swapcase() in served(page)[1])


def test_a_result_that_cannot_be_read_just_now_leaves_the_last_pages() -> None:
    """And it is not asked again at each request: reading a large result takes its time."""

    class Page:
        def __init__(self, text: str) -> None:
            self.text = text

        def page(self, _: str) -> str | None:
            return self.text

    now, state, asked = [0.0], ["a"], []

    def signed() -> str:
        asked.append(now[0])
        if state[0] == "gone":
            raise OSError("gone")
        return state[0]

    site = LiveSite(lambda version: cast("Site", Page(version)), signed, clock=lambda: now[0])
    state[0] = "gone"
    assert site.page("x") == "a"
    assert asked == [0.0]
    now[0] = 2.0
    assert site.page("x") == "a"
    assert site.version() == "a"
    assert asked == [0.0, 2.0]
    state[0], now[0] = "b", 4.0

    assert site.page("x") == "b"


def test_a_client_that_hangs_up_is_no_news(capfd: pytest.CaptureFixture[str]) -> None:
    class Large:
        def page(self, _: str) -> str | None:
            return "x" * 50_000_000

        def version(self) -> str:
            return ""

    with open_server(Large(), 0) as server:
        port = int(server.server_address[1])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            # A reset, not an end: what was sent is not read.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            before = set(threading.enumerate())
            server.handle_request()
            client.recv(1000)
        for answering in set(threading.enumerate()) - before:
            answering.join(60)
    told = capfd.readouterr()
    assert told.out + told.err == ""


def test_a_taken_port_is_told(whole: Path) -> None:
    class Empty:
        def page(self, _: str) -> str | None:
            return None

        def version(self) -> str:
            return ""

    with (
        open_server(Empty(), 0) as server,
        pytest.raises(UnavailableError, match=r"cannot be used.*name another with --port"),
    ):
        open_server(Empty(), int(server.server_address[1]))


@pytest.mark.slow
def test_the_command_says_where_and_ends_with_ctrl_c(results: Path) -> None:
    # As in the background of a shell, where Ctrl-C is ignored to begin with.
    command = ["sh", "-c", 'trap \'\' INT; exec "$0" "$@"', TILTYARD, "view", str(results), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_folder_that_is_no_result_is_told(tiltyard: Callable[..., Any], tmp_path: Path) -> None:
    done = tiltyard("view", str(tmp_path), "--port", "0")

    assert done.code == 65
    assert "holds no trial" in done.err


@pytest.mark.slow
def test_a_link_out_of_the_result_is_not_followed(tiltyard: Callable[..., Any], results: Path) -> None:
    """A folder that somebody sent may hold one; what it leads to is not published."""
    secret = results.parent / "secret"
    secret.write_text("the secret")
    log = next(results.glob("runs/*/docs/claude/1/raw.out"))
    log.unlink()
    log.symlink_to(secret)
    done = tiltyard("report", str(results), "--site", "site")

    assert done.code == 0
    pages = list((results.parent / "site").rglob("*.html"))
    assert pages
    assert not [page for page in pages if "the secret" in page.read_text()]


@pytest.mark.slow
def test_report_writes_page_and_site(tiltyard: Callable[..., Any], whole: Path, tmp_path: Path) -> None:
    done = tiltyard("report", str(whole), "--format", "html", "--out", "page.html", "--site", "site")

    assert (done.code, done.out) == (0, "")
    assert "to begin with site/index.html" in done.err
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert len(list((tmp_path / "site/run").rglob("*.html"))) == 24


def _until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (answer := true()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return answer
