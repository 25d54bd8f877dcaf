"""Whether each agent can run under each arm: kind, command and model, and a price where money is limited."""

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.draft import Draft
from tiltyard_specs.kinds import CLAUDE_EFFORTS, PROVIDER_OF_KIND, RUNNABLE_KINDS, kind_problem
from tiltyard_specs.model_places import called_models
from tiltyard_specs.nearest import did_you_mean
from tiltyard_specs.problems import KeyPath
from tiltyard_specs.variants import AgentVariant, expand

_NO_ARM = Arm(name="(none)")
_CALL_NOTHING = frozenset({"oracle", "nop"})


def check_agents(draft: Draft) -> None:
    """Report what an agent lacks, at the agent, or at the arm that takes it away."""
    arms = list(draft.items("arms", Arm)) or [(-1, _NO_ARM)]
    for i, agent in draft.items("agents", Agent):
        if not _has_kind(draft, i, agent):
            continue
        for variant in expand(agent):
            for j, arm in arms:
                _check_run(draft, (i, agent), variant, (j, arm))
                if _money_is_limited(draft):
                    _check_prices(draft, (i, agent), variant, (j, arm))


def _money_is_limited(draft: Draft) -> bool:
    budget = draft.sound.budget
    return draft.sound.limits.usd is not None or (budget is not None and budget.usd is not None)


def _has_kind(draft: Draft, index: int, agent: Agent) -> bool:
    kind = agent.resolved_kind
    if kind is None:
        draft.report(
            ("agents", index),
            f'"{agent.name}" is not the name of a kind, so add kind: how its output is read',
            did_you_mean(agent.name, RUNNABLE_KINDS, "Kinds that run today"),
        )
        return False
    if (problem := kind_problem(kind)) is not None:
        draft.report(("agents", index, "name"), *problem)
        return False
    return True


def _lacks(variant: AgentVariant) -> tuple[str, str] | None:
    if variant.kind == "text" and variant.command is None:
        return "kind text needs a command", "for example command: my-agent {prompt}"
    if variant.kind in PROVIDER_OF_KIND and variant.model is None and variant.command is None:
        return f"kind {variant.kind} needs a model", "pin it, so that all runs ask the same one: model: NAME"
    return None


def _bad_effort(variant: AgentVariant) -> tuple[str, str] | None:
    # The CLI only warns about an unknown effort and takes its default: two arms would be alike unseen.
    if variant.kind != "claude" or variant.command is not None or variant.effort in {None, *CLAUDE_EFFORTS}:
        return None
    return f'claude knows no effort "{variant.effort}"', f"use one of {', '.join(CLAUDE_EFFORTS)}"


def _effort_path(index: int, agent: Agent, variant: AgentVariant) -> KeyPath:
    if agent.efforts is not None and variant.effort is not None:
        return ("agents", index, "efforts", agent.efforts.index(variant.effort))
    return ("agents", index, "effort")


def _check_run(
    draft: Draft, numbered_agent: tuple[int, Agent], variant: AgentVariant, numbered_arm: tuple[int, Arm]
) -> None:
    (i, agent), (j, arm) = numbered_agent, numbered_arm
    for find, path in ((_lacks, ("agents", i)), (_bad_effort, _effort_path(i, agent, variant))):
        if (problem := find(variant.under(arm))) is None:
            continue
        if find(variant) is not None:
            draft.report(path, *problem)
        else:
            draft.report(
                ("arms", j), f'under this arm the agent "{variant.name}" cannot run: {problem[0]}', problem[1]
            )


def _check_prices(
    draft: Draft, numbered_agent: tuple[int, Agent], variant: AgentVariant, numbered_arm: tuple[int, Arm]
) -> None:
    running = variant.under(numbered_arm[1])
    if running.kind in _CALL_NOTHING:
        return
    rows = draft.source.data.get("prices")
    priced = rows if isinstance(rows, dict) else {}
    for path, model in called_models(numbered_agent, variant, numbered_arm):
        if model not in priced:
            hint = f'add prices for "{model}", or give the budget in tokens'
            draft.report(path, f'the model "{model}" has no price, so a limit in usd cannot cover it', hint)
    # A command of kind text may call none.
    if running.metered and running.model is None and not running.rewrite:
        draft.report(
            ("agents", numbered_agent[0]),
            f'no model is named for "{variant.name}", so a limit in usd cannot cover it',
            "name it",
        )
