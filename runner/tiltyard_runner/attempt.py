"""One attempt at one run, from the container's start to its record."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

import docker.errors
import requests
from pydantic import ValidationError

from tiltyard_gateway.config import RunMeter, RunTicket
from tiltyard_runner.agent_process import AgentEnd, ExecProcess, MainProcess, Watch, output_files
from tiltyard_runner.agents import AgentAdapter, AgentOutput, AgentResult, AgentTask, Launch, adapter_for
from tiltyard_runner.container import AGENT_UID, HOME, ROOT_UID, Container, ContainerPlan, FileToPut
from tiltyard_runner.cutting import beginning
from tiltyard_runner.errors import InfraError, SetupError
from tiltyard_runner.grading.grade import Grade, grade, tree_owner
from tiltyard_runner.job import Job, Place
from tiltyard_runner.masking import Masking
from tiltyard_runner.meter_facts import MeterFacts
from tiltyard_runner.metering import Metering
from tiltyard_runner.recording import Ran, build_record
from tiltyard_runner.redaction import mask_files, redact_attempt
from tiltyard_runner.result_file import take_result_file
from tiltyard_runner.setup import run_setup
from tiltyard_runner.slot import GATEWAY_URL
from tiltyard_runner.verdict import Facts, decide
from tiltyard_specs.answer_key import SlowPatternError, score_answer
from tiltyard_specs.claim import without_claims
from tiltyard_specs.errors import TiltyardError
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RunRecord, Score

_ENGINE_ERRORS = (docker.errors.DockerException, requests.RequestException, OSError, InfraError)


def execute(job: Job, attempt: int, place: Place, folder: Path) -> RunRecord:
    """Run the agent once, grade what it left, and say how it ended.

    Args:
        job: The run.
        attempt: Its ordinal, from 1.
        place: The slot.
        folder: An existing empty folder that gets prompt.txt, raw.out, raw.err, calls.jsonl, patch.diff
            and verify.log.

    Returns:
        The record, not yet written anywhere. Errors of the engine become the outcome `infra`, a failed setup
        becomes `setup_failed`: neither is raised. Keys are masked in the record and in the files.

    Raises:
        DataError: The task itself is wrong, such as an oracle without a solution.
        UnavailableError: The gateway has died.
    """
    life = _Attempt(job, attempt, place, folder)
    try:
        return redact_attempt(life.run(), folder, job.secrets)
    except TiltyardError:
        # A wrong spec or a use of ours that is wrong: no agent's doing, and no run can mend it.
        mask_files(folder, job.secrets)
        raise
    except (ValueError, RecursionError) as error:
        return redact_attempt(life.unrecorded(error), folder, job.secrets)
    except BaseException:
        # Nobody knows what it is; the files that stay behind hold no key all the same.
        mask_files(folder, job.secrets)
        raise


_REASON = 500
"""Characters of a reason."""
_PROXY = {
    name: value
    for upper, value in (("HTTPS_PROXY", GATEWAY_URL), ("NO_PROXY", "127.0.0.1,localhost"))
    for name in (upper, upper.lower())
}


class _Attempt:
    def __init__(self, job: Job, attempt: int, place: Place, folder: Path) -> None:
        self._job = job
        self._attempt = attempt
        self._place = place
        self._folder = folder
        self._adapter: AgentAdapter = adapter_for(job.kind)
        self._placebo = f"sk-placebo-{token_hex(16)}"
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._metering: Metering | None = None

    def run(self) -> RunRecord:
        try:
            (self._folder / "prompt.txt").write_text(self._job.task.prompt, encoding="utf-8")
            return self._record(self._through_the_container())
        except (ValidationError, RecursionError, UnicodeError) as error:
            return self.unrecorded(error)
        except SetupError as error:
            outcome = Outcome.CANCELLED if self._place.stop.is_set() else Outcome.SETUP_FAILED
            return self._lost(outcome, str(error))
        except _ENGINE_ERRORS as error:
            outcome = Outcome.CANCELLED if self._place.stop.is_set() else Outcome.INFRA
            return self._lost(outcome, str(error))

    def _through_the_container(self) -> Ran:
        place = self._place
        launch = self._adapter.launch(self._task())
        metering = self._metering = Metering(place.gateway, place.slot.name, self._ticket())
        with metering, Container(place.client, self._plan(launch)) as container:
            end = self._agent(container, launch)
            # Read after the kill, so that calls under way at the end are counted.
            return self._graded(container, end, metering.end())

    def _ticket(self) -> RunTicket:
        job, rules = self._job, self._job.meter
        return RunTicket(
            run_id=job.identity.run_id,
            attempt=self._attempt,
            placebo_key=self._placebo,
            calls_path=self._folder / "calls.jsonl",
            upstreams=dict(job.upstreams),
            limits=rules.limits,
            rewrite=dict(rules.rewrite),
            auth=rules.auth,
            prompt_cache=rules.prompt_cache,
            nonce=f"{job.identity.run_id}.{self._attempt}" if rules.nonce else None,
            web_tools="strip" if self._place.slot.sealed else "keep",
        )

    def _task(self) -> AgentTask:
        return replace(self._job.task, placebo_key=self._placebo)

    def _plan(self, launch: Launch) -> ContainerPlan:
        job, place = self._job, self._place
        identity = job.identity
        return ContainerPlan(
            image=job.image,
            argv=("sleep", "infinity") if job.setup else launch.argv,
            # What keeps the container up must not be the agent's to signal: its end is everything's end.
            user=ROOT_UID if job.setup else AGENT_UID,
            labels=place.owner.labels(
                trial=identity.trial, role="run", run=identity.run_id, attempt=self._attempt
            ),
            bounds=job.bounds,
            env=self._env(launch),
            network=place.slot.network(),
        )

    def _env(self, launch: Launch) -> Mapping[str, str]:
        proxy = _PROXY if self._job.meter.proxied else {}
        return {"HOME": HOME, "TMPDIR": "/tmp", "TERM": "dumb", **proxy, **launch.env}  # noqa: S108

    def _agent(self, container: Container, launch: Launch) -> AgentEnd:
        job = self._job
        container.put(FileToPut(file.path, file.content, file.mode) for file in launch.files)
        with output_files(self._folder, job) as files:
            watch = Watch(job, self._place, container)
            if not job.setup:
                with self._turn():
                    return watch.run(MainProcess(container, files), files)
            container.start()
            self._setup(container)
            argv, env = launch.argv, dict(self._env(launch))
            with self._turn():
                return watch.run(ExecProcess(container, files, argv, env), files)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._place.turns.turn(self._place.stop) as waited:
            # It says how busy the node was, and nothing of the run.
            self._clock += waited
            yield

    def _setup(self, container: Container) -> None:
        job, place = self._job, self._place
        log = self._folder / "setup.log"
        if job.parallel_setup:
            run_setup(container, job, user=tree_owner(job), log=log, stop=place.stop)
            return
        with place.setup_lock:
            run_setup(container, job, user=tree_owner(job), log=log, stop=place.stop)

    def _graded(self, container: Container, end: AgentEnd, meter: RunMeter) -> Ran:
        job = self._job
        output = AgentOutput(
            stdout=self._folder / "raw.out",
            stderr=self._folder / "raw.err",
            exit_code=end.exit_code,
            timed_out=end.timed_out,
            usage_file=self._result_file(container, end),
        )
        result = self._adapter.parse(output)
        wanted = job.task.edits or job.key.verify is not None
        # What passed the disk limit is not carried anywhere: the machine's own disk is at stake.
        lost = end.cancelled or end.broken or end.disk_bytes is not None
        found = grade(self._place, job, container, self._folder) if wanted and not lost else Grade()
        return Ran(end=end, result=result, grade=found, meter=meter, disk_bound=container.disk_bound)

    def _result_file(self, container: Container, end: AgentEnd) -> Path | None:
        """A copy of the file in which some agents leave their result; None when there is none."""
        source = self._adapter.result_file
        if source is None or end.cancelled or end.broken:
            return None
        return take_result_file(container, source, self._folder / "agent.json")

    def _score(self, answer: str | None) -> tuple[Score | None, str | None]:
        """The key's verdict, or why there is none though there is a key."""
        key = self._job.key
        if not key.expect and not key.forbid:
            return None, None
        try:
            return score_answer(answer, key.expect, key.forbid, key.min_recall), None
        except SlowPatternError as error:
            return None, str(error)

    def _record(self, ran: Ran) -> RunRecord:
        job = self._job
        result = self._scored_part(ran.result)
        score, unscored = self._score(result.answer)
        missing = self._adapter.missing_treatment(job.task, ran.result, ran.meter.calls)
        facts = Facts(
            end=ran.end,
            result=result,
            grade=ran.grade,
            score=score,
            unscored=unscored,
            missing=tuple(missing),
            must_be_metered=self._adapter.provider is not None,
            meter=MeterFacts.of(ran.meter),
        )
        outcome, reason = decide(facts)
        return build_record(
            job, self._attempt, self._place.node, started=self._started, seconds=self._elapsed(),
            outcome=outcome, reason=reason, ran=ran, score=score, missing=tuple(missing),
        )  # fmt: skip

    def _scored_part(self, result: AgentResult) -> AgentResult:
        """The result without what the agent says of its own checks, where it was asked for that."""
        if not self._job.claim or result.answer is None:
            return result
        return replace(result, answer=without_claims(result.answer))

    def unrecorded(self, error: Exception) -> RunRecord:
        """What an agent printed must never end a trial; nor may it excuse the run."""
        said = beginning(_words(error), _REASON, Masking(self._job.secrets).text)
        return self._lost(Outcome.NO_ANSWER, f"what the agent left cannot be recorded: {said}")

    def _lost(self, outcome: Outcome, reason: str) -> RunRecord:
        """The record of an attempt that has no verdict; what it spent stands in it all the same."""
        return build_record(
            self._job, self._attempt, self._place.node, started=self._started, seconds=self._elapsed(),
            outcome=outcome, reason=reason, meter=self._metering.end() if self._metering else None,
        )  # fmt: skip

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._clock, 3)


def _words(error: Exception) -> str:
    """What is wrong, without the values that a validation error quotes and cuts in its middle."""
    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
