"""Turns planned runs into jobs: everything that a run needs, looked up once."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiltyard_cluster.arm_images import TRIAL_OUT, ArmImage
from tiltyard_cluster.known_secrets import known_secrets
from tiltyard_cluster.logins import login_of
from tiltyard_cluster.plan import PlannedRun, run_timeout
from tiltyard_cluster.providers import run_upstreams
from tiltyard_cluster.treatment import with_treatment
from tiltyard_gateway.config import RunLimits, Upstream
from tiltyard_runner.agents import AgentTask
from tiltyard_runner.container import Bounds
from tiltyard_runner.job import Job, Key, MeterRules, RunIdentity
from tiltyard_runner.slot import GATEWAY_URL
from tiltyard_specs import AgentVariant, Arm, Question, Trial, TrialSpec
from tiltyard_specs.trial import AllowHosts

_WORKSPACE = "/workspace"
_CLAIM = (
    "At the end of your answer state on one line what you did to check it, as\n"
    'VERIFICATION: {"ran": [], "result": "passed|failed|not-run", "could_not_verify": [], "missing": []}'
)


@dataclass(frozen=True, slots=True)
class JobFactory:
    """Makes the jobs of one trial on one machine."""

    trial: Trial
    upstreams: Mapping[str, Upstream]
    environ: Mapping[str, str]
    scripted: bool
    """Whether a scripted model server answers: agents' own upstreams do not apply then."""

    def job(self, run: PlannedRun, image: ArmImage) -> Job:
        """The job of one run in its arm's image."""
        spec = self.trial.spec
        question = self.trial.question(run.question)
        arm = self.trial.arm(run.arm)
        agent = self.trial.agent(run.agent).under(arm)
        in_run = spec.setup_scope == "run"
        return Job(
            identity=RunIdentity(
                run.run_id,
                spec.name,
                run.question,
                run.arm,
                run.agent,
                run.rep,
                run.capability,
                run.position,
                run.block,
            ),
            kind=agent.kind,
            task=self._task(question, arm, agent),
            key=self._key(question),
            image=image.id,
            bounds=Bounds(
                cpus=spec.limits.cpus, memory=spec.limits.memory, pids=spec.limits.pids, disk=spec.limits.disk
            ),
            timeout=run_timeout(self.trial, question, agent),
            output_limit=spec.limits.output,
            trial_env=dict(arm.env) | trial_env(run),
            setup=arm.setup if in_run else (),
            parallel_setup=arm.parallel_setup,
            uses=arm.uses,
            claim=spec.defaults.claim,
            upstreams={} if self.scripted else run_upstreams(agent, self.upstreams, self.environ),
            meter=self._meter_rules(agent),
            effort=agent.effort,
            policy=self._policy(),
            images=image.facts,
            versions=image.versions,
            secrets=known_secrets(self.trial, self.environ),
        )

    def _meter_rules(self, agent: AgentVariant) -> MeterRules:
        spec = self.trial.spec
        # A reserve for the dearest answer exceeds many a run's limit: the last call may go beyond it.
        limits = RunLimits(
            usd=spec.limits.usd, tokens=spec.limits.tokens, turns=spec.limits.turns, reserve=False
        )
        return MeterRules(
            limits=limits,
            rewrite=dict(agent.rewrite),
            auth="placebo" if self.scripted else agent.auth,
            prompt_cache=spec.gateway.prompt_cache,
            nonce=spec.gateway.nonce,
            proxied=isinstance(spec.network, AllowHosts),
        )

    def _task(self, question: Question, arm: Arm, agent: AgentVariant) -> AgentTask:
        solution = self.trial.folder / question.solution if question.solution else None
        reads_solution = solution is not None and agent.kind == "oracle"
        task = AgentTask(
            prompt=full_prompt(self.trial.spec, question, arm),
            model=agent.model,
            effort=agent.effort,
            edits=agent.edits,
            args=tuple(agent.args),
            env=dict(arm.env) | dict(agent.env),
            command=agent.command,
            gateway_url=GATEWAY_URL,
            login=self._login(agent),
            max_turns=self.trial.spec.limits.turns,
            solution=solution.read_bytes() if solution is not None and reads_solution else None,
        )
        return with_treatment(task, arm)

    def _login(self, agent: AgentVariant) -> Mapping[str, str]:
        own = agent.auth == "passthrough" and not self.scripted
        return login_of(self.trial, agent, self.environ).env if own else {}

    def _key(self, question: Question) -> Key:
        folder = self.trial.folder
        return Key(
            expect=tuple(question.expect),
            forbid=tuple(question.forbid),
            min_recall=question.min_recall,
            verify=question.verify,
            hidden={path: (folder / source).read_bytes() for path, source in question.hidden.items()},
            protect=tuple(self.trial.spec.protect),
        )

    def _policy(self) -> dict[str, object]:
        data = self.trial.spec.model_dump(mode="json")
        return {name: data[name] for name in ("network", "history", "setup_scope", "limits")}


def full_prompt(spec: TrialSpec, question: Question, arm: Arm) -> str:
    """What the agent is asked, with all that the arm and the trial put around the question."""
    parts = [arm.prompt_prefix, question.prompt, arm.prompt_suffix, spec.defaults.prompt_suffix]
    return "\n\n".join(part for part in [*parts, _CLAIM if spec.defaults.claim else ""] if part)


def trial_env(run: PlannedRun) -> dict[str, str]:
    """The TRIAL_* variables of one run, for setup and verify; the agent does not get them."""
    return {
        "TRIAL_OUT": TRIAL_OUT,
        "TRIAL_DIR": _WORKSPACE,
        # Letters, digits and underscore, beginning with a letter: also a legal database name.
        "TRIAL_ID": f"t_{run.run_id[:24]}",
        "TRIAL_QUESTION": run.question,
        "TRIAL_ARM": run.arm,
        "TRIAL_AGENT": run.agent,
        "TRIAL_REP": str(run.rep),
    }
