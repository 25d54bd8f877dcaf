"""Runs one Dockerfile through the engine's classic builder, with a log, a time limit and progress.

The classic builder is the one that every engine offers through its API; BuildKit needs a plugin that
Debian's package lacks.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import docker
import requests
import urllib3
from docker.errors import APIError

from tiltyard_images.context import build_context
from tiltyard_images.errors import ImageBuildError
from tiltyard_images.hostenv import HostEnv
from tiltyard_images.model import LABEL_STAGE_OF
from tiltyard_images.say import COLOUR, Say, Throttled

TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class DockerfileBuild:
    """What to build: a Dockerfile of ours, its arguments, and the name of the result."""

    name: str
    tag: str
    key: str
    labels: Mapping[str, str]
    env: HostEnv
    args: Mapping[str, str] = field(default_factory=dict)


def build(client: docker.DockerClient, job: DockerfileBuild, *, log: Path, timeout: float, say: Say) -> None:
    """Build and tag one image; intermediate stages are removed afterwards.

    Raises:
        ImageBuildError: A step failed or the time ran out.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("w", encoding="utf-8") as file:
            _stream(client, job, file, timeout, Throttled(say, job.tag))
    except _BuildFailedError as failure:
        raise ImageBuildError(_sentence(job, str(failure), log)) from failure
    finally:
        client.images.prune({"dangling": True, "label": f"{LABEL_STAGE_OF}={job.key}"})


class _BuildFailedError(Exception):
    """What the engine said when it gave up."""


def _stream(
    client: docker.DockerClient, job: DockerfileBuild, log: IO[str], timeout: float, say: Throttled
) -> None:
    deadline = time.monotonic() + timeout
    for event in _events(client, job, timeout):
        text = str(event.get("stream") or event.get("status") or event.get("error") or "")
        log.write(text if text.endswith("\n") else f"{text}\n")
        if "error" in event:
            raise _BuildFailedError(_why(event))
        if time.monotonic() > deadline:
            raise _BuildFailedError(f"it took longer than {timeout:.0f} s")
        say(text)


def _why(event: Mapping[str, Any]) -> str:
    code = event.get("errorDetail", {}).get("code")
    return f"a step exited with {code}" if code else str(event["error"])


def _events(client: docker.DockerClient, job: DockerfileBuild, timeout: float) -> Iterator[dict[str, Any]]:
    try:
        yield from client.api.build(
            fileobj=build_context(job.name, job.env),  # type: ignore[arg-type]  # bytes serve as a body too
            custom_context=True,
            tag=job.tag,
            labels=dict(job.labels),
            buildargs={**job.env.proxies, **job.args, "TILTYARD_KEY": job.key},
            rm=True,
            forcerm=True,
            decode=True,
            timeout=int(timeout),
        )
    except (TimeoutError, urllib3.exceptions.TimeoutError, requests.Timeout) as error:
        raise _BuildFailedError(f"the engine said nothing for {timeout:.0f} s") from error
    except (APIError, requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _BuildFailedError(str(error)) from error


def _sentence(job: DockerfileBuild, why: str, log: Path) -> str:
    return f"The image {job.tag} could not be built: {why}. Its log is {log}; it ends:\n{tail(log)}"


def tail(log: Path) -> str:
    """Return the last lines of a log."""
    if not log.is_file():
        return ""
    text = COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace"))
    return "\n".join(text.splitlines()[-TAIL_LINES:])
