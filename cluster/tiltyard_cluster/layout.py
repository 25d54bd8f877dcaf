"""Where everything lies in a result: the one place that knows file names.

trial.json
runs/<question>/<arm>/<agent>/<rep>/run.json      first folder <capability>+<question> with capabilities
                                    prompt.txt raw.out raw.err calls.jsonl patch.diff verify.log
                                    attempts/<n>/attempt.json ...
superseded/<run id>/                records of an older spec, which no report reads
manifest.json                       what it should hold, and the digest of each record
records.jsonl.zst attempts.jsonl.zst records.parquet      the same records, compacted
"""

from collections.abc import Iterable
from typing import Protocol

from tiltyard_specs.slug import slug

TRIAL = "trial.json"
RUNS = "runs/"
RECORD = "run.json"
ATTEMPT = "attempt.json"
SUPERSEDED = "superseded"
MANIFEST = "manifest.json"
RECORDS_FILE = "records.jsonl.zst"
ATTEMPTS_FILE = "attempts.jsonl.zst"
TABLE_FILE = "records.parquet"


class Cell(Protocol):
    """What names a run's folder."""

    @property
    def capability(self) -> str | None: ...  # noqa: D102
    @property
    def question(self) -> str: ...  # noqa: D102
    @property
    def arm(self) -> str: ...  # noqa: D102
    @property
    def agent(self) -> str: ...  # noqa: D102
    @property
    def rep(self) -> int: ...  # noqa: D102


def run_key(cell: Cell) -> str:
    """The folder of a run, relative to the result, without a slash at its end."""
    first = slug(cell.question)
    if cell.capability is not None:
        first = f"{slug(cell.capability)}+{first}"
    return f"{RUNS}{first}/{slug(cell.arm)}/{slug(cell.agent)}/{cell.rep}"


def attempt_key(run: str, attempt: int) -> str:
    """The folder of an earlier attempt of the run in folder `run`."""
    return f"{run}/attempts/{attempt}"


def is_record(key: str) -> bool:
    """Whether a key names the record of a run; those of earlier attempts have another name."""
    return key.startswith(RUNS) and key.endswith("/" + RECORD)


def is_attempt(key: str) -> bool:
    """Whether a key names the record of an earlier attempt."""
    return key.startswith(RUNS) and key.endswith("/" + ATTEMPT)


def record_keys(keys: Iterable[str]) -> list[str]:
    """The records among some keys, in a stable order."""
    return sorted(key for key in keys if is_record(key))


def attempt_keys(keys: Iterable[str]) -> list[str]:
    """The records of earlier attempts among some keys, in a stable order."""
    return sorted(key for key in keys if is_attempt(key))
