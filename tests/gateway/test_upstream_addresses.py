"""Where requests are sent on: TCP and unix sockets, with the query but for keys."""

import socket
import socketserver
import tempfile
import threading
from pathlib import Path

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider, ProviderServer, answer_by_stream_flag
from tiltyard_gateway import GatewayProcess, Upstream
from tiltyard_gateway.config import default_upstreams, scripted_upstreams
from tiltyard_gateway.upstream import locate, proxy_for


@pytest.mark.parametrize(
    ("base_url", "query", "url", "path"),
    [
        ("https://api.example/v1", "beta=true", "https://api.example/v1/messages?beta=true", None),
        ("https://api.example/v1/", "", "https://api.example/v1/messages", None),
        ("http://127.0.0.1:80/a/v1", "key=s&a=%2F&key=t", "http://127.0.0.1/a/v1/messages?a=%2F", None),
        ("unix:///run/x.sock/v1", "", "http://script/v1/messages", "/run/x.sock"),
        ("unix:///run/x.sock", "", "http://script/messages", "/run/x.sock"),
    ],
)
def test_addresses(base_url: str, query: str, url: str, path: str | None) -> None:
    address = locate(base_url, "/messages", query)

    assert (str(address.url), address.socket) == (url, path)


def test_a_proxy_of_the_environment_is_for_real_providers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    real = default_upstreams()["anthropic"]
    scripted = scripted_upstreams("http://script.example")["anthropic"]

    assert proxy_for(real, locate(real.base_url, "/messages", "")) == "http://proxy.example:3128"
    assert proxy_for(scripted, locate(scripted.base_url, "/messages", "")) is None
    assert proxy_for(real, locate("http://127.0.0.1:1/v1", "/messages", "")) is None


class UnixProviderServer(ProviderServer):
    """The provider on a unix socket."""

    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)


def test_an_upstream_on_a_unix_socket_is_reached(
    agent: Agent, gateway: GatewayProcess, kit: type[Kit], calls_path: Path
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/provider.sock"
        server = UnixProviderServer(path, Exchange)  # type: ignore[arg-type]
        server.provider = Provider(f"unix://{path}", answer_by_stream_flag)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        gateway.end("0")
        upstream = Upstream(base_url=f"unix://{path}/v1", key=kit.REAL_KEY)
        gateway.begin("0", kit.ticket(calls_path, anthropic=upstream))

        assert agent.message(stream=True).body == b"".join(kit.STREAM)
        assert server.provider.received[0].path == "/v1/messages?beta=true"
        server.shutdown()
        server.server_close()
