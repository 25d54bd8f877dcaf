"""What of this machine a build may use and must not keep: its CA bundle, proxies and package mirrors.

Behind a proxy that signs with its own CA, pip, npm and git fail in a plain container. A build gets the
machine's bundle and settings for as long as it runs; no layer, label or history entry holds any of it.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CA_SOURCES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables of this machine that may name its CA bundle, the most general first."""
CA_TARGETS = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
)
"""Variables that tell the tools in a build where the bundle lies."""
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
MIRRORS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "npm_config_registry", "GOPROXY")
BUILD_DIR = "/run/tiltyard-build"
"""Where a build finds the bundle; removed before anything is kept."""
CA_PATH = f"{BUILD_DIR}/ca.pem"


@dataclass(frozen=True, slots=True)
class HostEnv:
    """The machine's own settings, for the length of a build."""

    ca: bytes
    """The CA bundle in PEM; empty where the machine names none."""
    proxies: Mapping[str, str]
    mirrors: Mapping[str, str]

    def variables(self) -> dict[str, str]:
        """Environment for a command in a build."""
        ca = dict.fromkeys(CA_TARGETS, CA_PATH) if self.ca else {}
        return {**ca, **self.proxies, **self.mirrors}

    def script(self) -> bytes:
        """Return the same as a shell script, for the stages of a Dockerfile."""
        lines = (f"export {name}={shlex.quote(value)}\n" for name, value in self.variables().items())
        return "".join(lines).encode()


def host_env(environ: Mapping[str, str] = os.environ) -> HostEnv:
    """Read what a build may use from this machine's environment."""
    return HostEnv(
        ca=_bundle(environ),
        proxies={
            spelling: value
            for name in PROXIES
            if (value := environ.get(name) or environ.get(name.upper()))
            for spelling in (name, name.upper())
        },
        mirrors={name: environ[name] for name in MIRRORS if environ.get(name)},
    )


def _bundle(environ: Mapping[str, str]) -> bytes:
    for name in CA_SOURCES:
        path = environ.get(name)
        if path and Path(path).is_file():
            return Path(path).read_bytes()
    return b""
