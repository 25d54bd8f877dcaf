"""Jobs without keys: what travels through a cluster holds none, and each node fills in its own.

The spec names the variables; their values stay in the environment of the machine that uses them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tiltyard_cluster.executor import OpenRun
from tiltyard_cluster.known_secrets import known_secrets
from tiltyard_cluster.logins import login_of
from tiltyard_cluster.providers import run_upstreams, trial_upstreams
from tiltyard_gateway.config import Upstream
from tiltyard_runner.job import Job
from tiltyard_specs import Trial


def stripped(run: OpenRun) -> OpenRun:
    """The run without the values of keys and logins."""
    job = run.job
    return replace(run, job=replace(job, secrets=(), upstreams={}, task=replace(job.task, login={})))


@dataclass(frozen=True, slots=True)
class KeyFiller:
    """Fills in what was stripped, from this machine's environment."""

    trial: Trial
    environ: Mapping[str, str]
    scripted: bool
    """Whether a script answers model calls: no keys then."""

    def upstreams(self) -> dict[str, Upstream]:
        """The trial's providers, with this machine's keys."""
        return trial_upstreams(self.trial, self.environ)

    def secrets(self) -> tuple[str, ...]:
        """What must stand in no result that this machine writes."""
        return known_secrets(self.trial, self.environ)

    def job(self, run: OpenRun) -> Job:
        """The run's job, ready to be executed here.

        Raises:
            UnavailableError: An agent's own login is not on this machine.
        """
        job, planned = run.job, run.planned
        agent = self.trial.agent(planned.agent).under(self.trial.arm(planned.arm))
        own = agent.auth == "passthrough" and not self.scripted
        login = login_of(self.trial, agent, self.environ).env if own else {}
        upstreams = {} if self.scripted else run_upstreams(agent, self.upstreams(), self.environ)
        task = replace(job.task, login=login)
        return replace(job, task=task, upstreams=upstreams, secrets=self.secrets())
