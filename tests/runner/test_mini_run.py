"""mini-swe-agent for real: in a sealed run, through the meter, against a scripted model."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tiltyard_gateway.config import Upstream
from tiltyard_gateway.scripted import ScriptedServer, parse_script
from tiltyard_images import Checkout, Image, ImageBuilder
from tiltyard_runner.container import Bounds
from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine, pytest.mark.agents, pytest.mark.slow]

MIB = 1 << 20
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
SCRIPT = f"""
usage: {{input: 600, cache_read: 400, output: 50, reasoning: 10}}
conversations:
  - when: {{prompt: 'adds wrongly'}}
    turns:
      - {{shell: "sed -i 's/a - b/a + b/' calc.py && git diff --stat"}}
      - {{shell: "{SUBMIT} && echo fixed"}}
  - when: {{prompt: 'six by seven'}}
    turns: [{{text: "It is 42.", shell: "{SUBMIT}"}}]
  - when: {{prompt: 'never ends'}}
    turns: [{{shell: "true"}}, {{shell: "sleep 100"}}]
"""


@pytest.fixture(scope="module")
def upstreams() -> Iterator[dict[str, Upstream]]:
    with ScriptedServer(parse_script(SCRIPT, name="mini.yaml")) as server:
        plain = {"base_url": f"{server.base_url}/v1", "key": "sk-scripted-no-provider", "scripted": True}
        yield {"openai": Upstream.model_validate(plain)}


@pytest.fixture
def mini(
    bench: Any, image_builder: ImageBuilder, project_checkout: Checkout, upstreams: dict[str, Upstream]
) -> Callable[..., Any]:
    """Run mini on a prompt in the small project."""

    def image(*, edits: bool) -> Image:
        agent = image_builder.agent("mini")
        return image_builder.workspace(agent, project_checkout, writable=edits, history="none")

    def run(prompt: str, *, edits: bool = True, timeout: float = 120.0, **more: Any) -> Any:
        task = {"prompt": prompt, "command": None, "model": "model-a"} | more.pop("task", {})
        return bench.run(
            "",
            kind="mini",
            edits=edits,
            image=image(edits=edits),
            task=task,
            upstreams=upstreams,
            timeout=timeout,
            bounds=Bounds(cpus=1, memory=1024 * MIB, pids=128, disk=64 * MIB),
            **more,
        )

    return run


def test_a_change_is_made_metered_and_verified(mini: Callable[..., Any], bench: Any) -> None:
    result = mini("calc.py adds wrongly.", key=Key(verify=bench.VERIFY))
    record = result.record
    assert record.outcome is Outcome.PASSED, (record.reason, result.text("raw.out")[-500:])
    assert result.files == {"calc.py"}
    assert (record.answer, record.turns, record.metered.calls) == ("fixed", 2, 2)
    assert record.reported.usage.model_dump(exclude={"cache_write_1h"}) == record.metered.usage.model_dump(
        exclude={"cache_write_1h"}
    )
    assert [call.name for call in record.tool_calls] == ["bash", "bash"]
    calls = [json.loads(line) for line in result.text("calls.jsonl").splitlines()]
    assert {(call["wire"], tuple(call["tools"])) for call in calls} == {("openai-chat", ("bash",))}


def test_a_question_is_answered_without_edits(mini: Callable[..., Any]) -> None:
    record = mini("What is six by seven?", edits=False, key=Key(expect=("42",))).record
    assert (record.outcome, record.answer) == (Outcome.PASSED, "It is 42.")


def test_a_step_limit_and_a_time_limit_leave_their_usage(mini: Callable[..., Any]) -> None:
    limited = mini("This never ends.", task={"max_turns": 1}, key=Key(verify="true")).record
    assert (limited.outcome, limited.reported.usage.output) == (Outcome.LIMIT, 50)
    ended = mini("This never ends.", timeout=25.0, key=Key(verify="true")).record
    assert (ended.outcome, ended.metered.calls, ended.reported.usage.output) == (Outcome.TIMEOUT, 2, 100)
