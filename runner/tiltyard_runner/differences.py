"""Why an agent's account of its usage is not the meter's: the difference, and what of it is known.

The two differ for good reasons: a CLI leaves out calls that broke off, calls beside its main loop, and what
was under way when it was killed. A reason counts as known only where its calls add up to the difference.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tiltyard_gateway.config import RunMeter
from tiltyard_runner.agents import AgentResult
from tiltyard_specs.calls import Call
from tiltyard_specs.difference_record import Cause, CauseCode, Difference
from tiltyard_specs.usage import Usage

_BUCKETS = ("input", "cache_read", "cache_write", "output")
_UNBILLED = frozenset({"free", "refused"})
_MOST_GROUPS = 8
"""So many groups of calls are tried in every combination."""
_CENTS = 1e-6
_SHARE = 1e-3
"""Costs that differ by less are the same: CLIs add floating point numbers in another order."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What bears on a difference, beside the two accounts."""

    model: str | None = None
    """The model that the agent was told to use."""
    forced: bool = False
    """Whether the run was ended from outside: time, a limit, the user."""
    sealed: bool = True
    """Whether no call could go beside the meter."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Calls that an agent may well leave out of its account, for one reason."""

    code: CauseCode
    calls: tuple[Call, ...]

    @property
    def tokens(self) -> int:
        return sum(map(_tokens, self.calls))

    def cause(self) -> Cause:
        return Cause(code=self.code, calls=len(self.calls), tokens=self.tokens)


def difference(meter: RunMeter, result: AgentResult, around: Circumstances) -> Difference | None:
    """How the two accounts differ and why; None when they agree, or when nothing was metered."""
    calls = [call for call in meter.calls if call.outcome not in _UNBILLED]
    if not calls:
        return None
    usd = _less(None if meter.incomplete else meter.cost_usd, result.cost_usd)
    reported = result.usage.total if result.usage else None
    if reported is None:
        early = around.forced or (result.usage is not None and not result.complete)
        code: CauseCode = "ended_early" if early else "no_usage_printed"
        return Difference(usd=usd, causes=_ranked([Cause(code=code), *_lacking(calls, around)]))
    tokens = _less(_metered(meter), reported)
    causes, explained = _causes(tokens, meter, result, calls, around)
    money = _money(usd, tokens, meter, calls)
    if not causes and not money:
        return None
    return Difference(tokens=tokens, usd=usd, causes=(*causes, *money), explained=explained)


def _metered(meter: RunMeter) -> int | None:
    """Calls that only failed are billed nothing."""
    if meter.usage is None:
        return None if meter.incomplete else 0
    return meter.usage.total


def _less(metered: float | None, reported: float | None) -> float | None:
    return None if metered is None or reported is None else metered - reported


def _causes(
    tokens: float | None, meter: RunMeter, result: AgentResult, calls: Sequence[Call], around: Circumstances
) -> tuple[tuple[Cause, ...], bool]:
    """The reasons for a difference in tokens, and whether they account for all of it."""
    if tokens == 0:
        same = _buckets(meter.usage) == _buckets(result.usage)
        return () if same else (Cause(code="counted_otherwise", tokens=0),), True
    if tokens is not None and tokens > 0:
        groups = list(_groups(calls, around))
        if exact := _adds_up(tokens, groups) or _the_last(tokens, calls, around, result):
            return _ranked(exact), True
        known = [group.cause() for group in groups if group.tokens]
        told = {cause.code for cause in known}
        lacking = [cause for cause in _lacking(calls, around) if cause.code not in told]
        # Where the metered sum is a lower bound, nothing could account for every token.
        rest = () if lacking or meter.incomplete else (Cause(code="unexplained"),)
        return (*_ranked([*known, *lacking]), *rest), False
    beside = () if around.sealed else (Cause(code="beside_the_meter"),)
    return (*_ranked(_lacking(calls, around)), *beside) or (Cause(code="unexplained"),), False


def _groups(calls: Sequence[Call], around: Circumstances) -> Iterator[_Group]:
    broken: dict[CauseCode, list[Call]] = {}
    for call in calls:
        if (code := _broken_off(call, around)) is not None:
            broken.setdefault(code, []).append(call)
    yield from (_Group(code, tuple(group)) for code, group in broken.items())
    whole = [call for call in calls if call.outcome == "ok"]
    with_tools = any(call.tools for call in whole)
    main = around.model or next((call.role for call in whole if call.tools), None)
    beside: dict[tuple[str | None, bool], list[Call]] = {}
    for call in whole:
        if call.role != main or (with_tools and not call.tools):
            beside.setdefault((call.role, bool(call.tools)), []).append(call)
    yield from (_Group("side_calls", tuple(group)) for group in beside.values())


def _adds_up(tokens: float, groups: Sequence[_Group]) -> list[Cause]:
    """The fewest groups whose calls make up the difference to the token."""
    weighty = [group for group in groups if group.tokens][:_MOST_GROUPS]
    for number in range(1, len(weighty) + 1):
        for some in combinations(weighty, number):
            if sum(group.tokens for group in some) == tokens:
                return [group.cause() for group in some]
    return []


def _the_last(
    tokens: float, calls: Sequence[Call], around: Circumstances, result: AgentResult
) -> list[Cause]:
    """An agent that is ended tells what it had used before its last calls."""
    if result.complete and not around.forced:
        return []
    total = 0
    for number, call in enumerate(reversed(calls), 1):
        total += _tokens(call)
        if total == tokens:
            return [Cause(code="ended_early", calls=number, tokens=total)]
    return []


def _lacking(calls: Sequence[Call], around: Circumstances) -> Iterator[Cause]:
    """Calls that may have been billed and whose usage the meter does not fully know."""
    for call in calls:
        if call.outcome != "error" and (call.usage is None or call.usage.total is None):
            yield Cause(code=_broken_off(call, around) or "incomplete_meter", calls=1)


def _broken_off(call: Call, around: Circumstances) -> CauseCode | None:
    """Why a call has no whole answer; None where it has one."""
    left: CauseCode = "ended_early" if around.forced else "agent_left"
    reasons: dict[str, CauseCode] = {"cut": "cut_stream", "hung_up": left, "error": "failed_calls"}
    return reasons.get(call.outcome)


def _money(
    usd: float | None, tokens: float | None, meter: RunMeter, calls: Sequence[Call]
) -> tuple[Cause, ...]:
    if usd is None or abs(usd) <= max(_CENTS, _SHARE * (meter.cost_usd or 0.0)):
        return ()
    if rewritten := sum(call.asked is not None and call.asked != call.role for call in calls):
        return (Cause(code="rewritten_model", calls=rewritten),)
    return (Cause(code="own_prices"),) if tokens == 0 else ()


def _ranked(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """One for each code, the weightiest first."""
    merged: dict[CauseCode, Cause] = {}
    for each in causes:
        known = merged.get(each.code, Cause(code=each.code))
        merged[each.code] = Cause(
            code=each.code,
            calls=_sum(known.calls, each.calls),
            tokens=_sum(known.tokens, each.tokens),
        )
    return tuple(sorted(merged.values(), key=lambda cause: -(cause.tokens or 0)))


def _sum(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right


def _tokens(call: Call) -> int:
    return sum(_buckets(call.usage))


def _buckets(usage: Usage | None) -> tuple[int, ...]:
    return tuple(getattr(usage, name, None) or 0 for name in _BUCKETS)
