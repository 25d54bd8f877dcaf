"""What a caller may say about one start of a trial, beside the spec."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiltyard_cluster.events import Event, Listener
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import ShardName


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where mirrors of repos, locks and build logs lie: TILTYARD_CACHE, else the user's cache folder."""
    if "TILTYARD_CACHE" in environ:
        return Path(environ["TILTYARD_CACHE"]).absolute()
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiltyard"


def _ignore(event: Event) -> None:
    """Listen to nothing."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a trial this time.

    Attributes:
        retry_failed: Do runs again that ended without counting: infra, setup_failed, undelivered, unmetered.
        model_script: File that answers model calls instead of a provider: no key, no cost.
        parallel: Runs at once, instead of the spec's.
        plan: Run what this plan says, at its commits; the trial must be the plan's.
        shard: Run this part of the plan.
        s3_endpoint: Address of the S3 service, for results in S3; by default what boto3 finds, else AWS.
        registry: Where nodes of a cluster get images that they lack, `HOST[:PORT][/REPOSITORY]`; by default
            what TILTYARD_REGISTRY names, else an archive in the results.
        cluster: Run on a Ray cluster: `local`, `local:N`, `auto` or `HOST:PORT`; by default on this machine.
        no_budget: Run agents that call paid models though the spec has no budget.
        listen: Called with each `Note`, `Planned`, `RunStarted` and `AttemptEnded`, from any thread.
        environ: Where keys and settings come from; by default the environment of this process.
    """

    retry_failed: bool = False
    model_script: Path | str | None = None
    parallel: int | None = None
    no_budget: bool = False
    plan: PlanFile | None = None
    shard: ShardName | None = None
    s3_endpoint: str | None = None
    cluster: str | None = None
    registry: str | None = None
    listen: Listener = _ignore
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def script(self) -> Path | None:
        """The model script as a path."""
        return None if self.model_script is None else Path(self.model_script)
