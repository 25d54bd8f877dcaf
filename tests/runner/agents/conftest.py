"""Reading bytes as if an agent had printed them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.agents import AgentOutput, AgentResult, adapter_for


@pytest.fixture
def parse(tmp_path: Path) -> Callable[..., AgentResult]:
    """Parse bytes, or events as JSON lines, as the standard output of an agent of a kind."""

    def read(
        kind: str, stdout: bytes, stderr: bytes = b"", exit_code: int | None = 0, **how: Any
    ) -> AgentResult:
        (tmp_path / "raw.out").write_bytes(stdout)
        (tmp_path / "raw.err").write_bytes(stderr)
        output = AgentOutput(tmp_path / "raw.out", tmp_path / "raw.err", exit_code, **how)
        return adapter_for(kind).parse(output)

    return read


@pytest.fixture
def lines() -> Callable[..., bytes]:
    """Events as JSON lines."""

    def write(*events: object) -> bytes:
        return b"".join(json.dumps(event).encode() + b"\n" for event in events)

    return write
