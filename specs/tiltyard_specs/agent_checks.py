"""Whether each agent can run under each arm: kind, command and model, and a price where money is limited."""

from collections.abc import Iterator

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.draft import Draft
from tiltyard_specs.kinds import PROVIDER_OF_KIND, RUNNABLE_KINDS, kind_problem
from tiltyard_specs.nearest import did_you_mean
from tiltyard_specs.problems import KeyPath
from tiltyard_specs.rewrite import rewrite_model
from tiltyard_specs.variants import AgentVariant, expand

_NO_ARM = Arm(name="(none)")


def check_agents(draft: Draft) -> None:
    """Report what an agent lacks, at the agent, or at the arm that takes it away."""
    arms = list(draft.items("arms", Arm)) or [(-1, _NO_ARM)]
    for i, agent in draft.items("agents", Agent):
        if not _has_kind(draft, i, agent):
            continue
        for variant in expand(agent):
            for j, arm in arms:
                _check_run(draft, i, variant, (j, arm))
                if _money_is_limited(draft):
                    _check_prices(draft, i, agent, variant, (j, arm))


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


def _check_run(draft: Draft, index: int, variant: AgentVariant, numbered_arm: tuple[int, Arm]) -> None:
    j, arm = numbered_arm
    if (problem := _lacks(variant.under(arm))) is None:
        return
    if _lacks(variant) is not None:
        draft.report(("agents", index), *problem)
    else:
        draft.report(
            ("arms", j), f'under this arm the agent "{variant.name}" cannot run: {problem[0]}', problem[1]
        )


def _check_prices(
    draft: Draft, index: int, agent: Agent, variant: AgentVariant, numbered_arm: tuple[int, Arm]
) -> None:
    j, arm = numbered_arm
    running = variant.under(arm)
    if not running.metered:
        return
    rows = draft.source.data.get("prices")
    priced = rows if isinstance(rows, dict) else {}
    at_agent = _model_path(index, agent, variant)
    for path, model in _models(
        running, ("arms", j, "model") if arm.model else at_agent, _rules_path(index, j, arm)
    ):
        if model not in priced:
            hint = f'add prices for "{model}", or give the budget in tokens'
            draft.report(path, f'the model "{model}" has no price, so a limit in usd cannot cover it', hint)
    if running.model is None and not running.rewrite:
        draft.report(
            ("agents", index),
            f'no model is named for "{variant.name}", so a limit in usd cannot cover it',
            "name it",
        )


def _model_path(index: int, agent: Agent, variant: AgentVariant) -> KeyPath:
    if agent.models is not None and variant.model is not None:
        return ("agents", index, "models", agent.models.index(variant.model))
    return ("agents", index, "model")


def _rules_path(index: int, j: int, arm: Arm) -> KeyPath:
    return ("arms", j, "rewrite") if arm.rewrite is not None else ("agents", index, "rewrite")


def _models(running: AgentVariant, at_model: KeyPath, at_rules: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Every model that may be called, and where the spec names it."""
    if running.model is not None and rewrite_model(running.model, running.rewrite) == running.model:
        yield at_model, running.model
    for pattern, target in running.rewrite.items():
        yield (*at_rules, pattern), target
