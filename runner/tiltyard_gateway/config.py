"""What the driver tells the gateway, and what it gets back.

All of it crosses a process boundary as JSON: over stdin (the configuration, which holds real keys) and over
the control socket (tickets). Keys are `SecretStr`, so that no traceback or log line prints them.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr

from tiltyard_specs.base import Model
from tiltyard_specs.calls import Call
from tiltyard_specs.spec_base import Auth
from tiltyard_specs.trial import Budget, PriceRow
from tiltyard_specs.usage import Usage, total_usage

ANTHROPIC_URL = "https://api.anthropic.com/v1"
OPENAI_URL = "https://api.openai.com/v1"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"


class Upstream(Model):
    """Where the calls to one provider really go."""

    base_url: str
    """With the version segment: `https://api.example/v1`, or `unix:///path/to.sock/v1`."""
    key: SecretStr | None = None
    """The real key; None refuses the provider's calls with a sentence that names `key_name`."""
    key_name: str | None = None
    """The environment variable that the key comes from, for messages."""
    scripted: bool = False
    """A scripted model server: it is told which run calls. A real provider never is."""


def default_upstreams() -> dict[str, Upstream]:
    """The public addresses of the known providers, without keys."""
    return {
        "anthropic": Upstream(base_url=ANTHROPIC_URL, key_name="ANTHROPIC_API_KEY"),
        "openai": Upstream(base_url=OPENAI_URL, key_name="OPENAI_API_KEY"),
        "gemini": Upstream(base_url=GEMINI_URL, key_name="GEMINI_API_KEY"),
    }


def scripted_upstreams(base_url: str) -> dict[str, Upstream]:
    """All providers at one scripted model server, whose `ScriptedServer.base_url` this is."""
    target = Upstream(
        base_url=base_url.rstrip("/") + "/v1", key=SecretStr("sk-scripted-no-provider"), scripted=True
    )
    return dict.fromkeys(default_upstreams(), target)


class Timeouts(Model):
    """Limits on waiting, in seconds."""

    connect: float = 30.0
    """To open a connection to a provider."""
    idle: float = 600.0
    """Without a byte from the provider, before and within a response."""
    room: float = 240.0
    """For a call to wait until others in flight leave room for its reserve."""
    hold: float = 60.0
    """For a call to be held back from an overloaded provider; agents wait longer than that for an answer."""


class RunLimits(Model):
    """What one run may use: its end is the run's end."""

    usd: float | None = None
    """US dollars, from the price table."""
    tokens: int | None = None
    """Tokens, all kinds together."""
    turns: int | None = None
    """Model calls that were answered."""
    reserve: bool = True
    """Whether a call must fit with its worst case. If not, the call that reaches a limit may go beyond it."""


class Spent(Model):
    """What all runs of a trial have used."""

    usd: float = 0.0
    """Charged so far, in US dollars; calls without a price count nothing."""
    tokens: int = 0
    """Charged so far."""
    reserved_usd: float = 0.0
    """Set aside for calls in flight."""
    reserved_tokens: int = 0
    """Set aside for calls in flight."""
    refused: int = 0
    """Calls that the trial's budget turned away."""


class LeaseOrder(Model):
    """What the ledger of a budget over many gateways says to one of them, in its budget's own unit."""

    granted: int
    """What it may spend in all, from its start: pico-dollars or tokens."""
    refused: int = 0
    """What it wanted and will never be granted; 0 for nothing. Who wants less meanwhile is not meant."""
    give_back: bool = False
    """Whether it is to keep only what it has spent and holds in reserve."""


class LeaseState(Model):
    """What a gateway with a lease says of itself, in the same unit."""

    granted: int = 0
    """What it keeps to."""
    spent: int = 0
    reserved: int = 0
    """For calls in flight."""
    wants: int = 0
    """By how much the lease is too small for the call that waits first; 0 when none waits."""


StopReason = Literal["usd", "tokens", "turns", "trial budget", "unpriced"]
"""What ended a run at the meter. unpriced: a limit in USD, and a model whose price is unknown."""


class GatewayConfig(Model):
    """Everything that holds for all runs of one gateway."""

    folder: Path | None = None
    """Of the sockets; None makes a fresh one with a short path, which is removed at the end."""
    upstreams: dict[str, Upstream] = Field(default_factory=default_upstreams)
    """By provider: `anthropic`, `openai`, `gemini`."""
    prices: dict[str, PriceRow] = Field(default_factory=dict)
    """By exact model name."""
    budget: Budget | None = None
    """What all runs of this gateway together may spend, earlier spend included."""
    leased: bool = False
    """Whether it is one of many with one budget: it begins with a lease of nothing, and calls that do not fit
    wait until `lease` has made it larger, or refused that. `budget` then only says which unit counts."""
    spent: Spent = Spent()
    """What was spent before this gateway began; only `usd` and `tokens` count."""
    timeouts: Timeouts = Timeouts()
    allow: tuple[str, ...] = ()
    """Hosts that agents may CONNECT to: a name for its ports 80 and 443, or `name:port`."""
    max_body: int = 32 * 1024 * 1024
    """Largest request body, in bytes; all of one run that are in memory at once may have twice that."""
    max_unbilled: int = 1000
    """Refused and free requests recorded per run; more are only counted, so that a flood fills no disk."""


class RunTicket(Model):
    """One attempt of one run, for the time that it owns a slot."""

    run_id: str
    attempt: int = 1
    placebo_key: SecretStr
    """The only key with which this run's agent is served."""
    calls_path: Path
    """File to which each settled call is appended as one JSON line."""
    upstreams: dict[str, Upstream] = Field(default_factory=dict)
    """Overrides the configuration's, by provider."""
    limits: RunLimits = RunLimits()
    """What the run may use."""
    rewrite: dict[str, str] = Field(default_factory=dict)
    """Models to swap on the way: exact names first, then wildcards in this order."""
    auth: Auth = "placebo"
    """passthrough: the agent's own login is sent on untouched, and its calls' cost is imputed."""
    prompt_cache: Literal["keep", "off"] = "keep"
    """off: no call is served from the provider's prompt cache, as far as its API lets us."""
    nonce: str | None = None
    """A line put at the front of each prompt, so that no run is served from what another left in a cache."""
    web_tools: Literal["keep", "strip"] = "keep"
    """strip: tools by which the provider itself would reach the web are taken out of requests."""


@dataclass(frozen=True, slots=True)
class RunMeter:
    """What one attempt used, as the gateway saw it."""

    calls: tuple[Call, ...]
    unrecorded: int = 0
    """Refused and free requests beyond the recorded ones."""
    journal_error: str | None = None
    """Why calls could not be written to the calls file, if so."""
    stopped_by: StopReason | None = None
    """Why the run's calls were refused from some point on, if so."""

    @property
    def usage(self) -> Usage | None:
        """Sum over all calls whose usage is known; None when there is none."""
        return total_usage([call.usage for call in self.calls if call.usage is not None])

    @property
    def cost_usd(self) -> float | None:
        """Sum of the known costs; None when no call has one, or when a call with known usage has no price."""
        unpriced = any(_is_complete(call) and call.cost_usd is None for call in self.calls)
        return None if unpriced else self.least_usd

    @property
    def least_usd(self) -> float | None:
        """Sum of the known costs, whatever is unknown beside them; None when no call has one."""
        priced = [call.cost_usd for call in self.calls if call.cost_usd is not None]
        return sum(priced) if priced else None

    @property
    def charged_usd(self) -> float | None:
        """What counts against budgets: the reserve stands for a call whose usage is not fully known.

        None when a charged call has no price: the sum of the others would be no bound.
        """
        charged = [call for call in self.calls if call.charged is not None]
        if any(call.charged_usd is None for call in charged):
            return None
        return sum(call.charged_usd or 0.0 for call in charged)

    @property
    def charged_tokens(self) -> int:
        """What counts against budgets."""
        return sum(call.charged_tokens or 0 for call in self.calls)

    @property
    def held_seconds(self) -> float:
        """Time in which the gateway held calls back: it is not the agent's and not the model's."""
        return sum(call.held_seconds for call in self.calls)

    @property
    def incomplete(self) -> int:
        """Calls that may have been billed and whose usage is not fully known."""
        return sum(1 for call in self.calls if call.outcome in _MAYBE_BILLED and not _is_complete(call))


_MAYBE_BILLED = frozenset({"ok", "cut", "hung_up"})


def _is_complete(call: Call) -> bool:
    return call.usage is not None and call.usage.total is not None


def to_wire(model: Model) -> str:
    """One line of JSON with secrets in clear: only for the gateway's stdin and its private control socket."""
    return json.dumps(_reveal(model.model_dump()))


def _reveal(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, dict):
        return {key: _reveal(item) for key, item in value.items()}
    return str(value) if isinstance(value, Path) else value


def meter_from_wire(data: dict[str, Any]) -> RunMeter:
    """Read what the control socket answers."""
    calls = tuple(Call.model_validate(item) for item in data["calls"])
    return RunMeter(
        calls=calls,
        unrecorded=data["unrecorded"],
        journal_error=data["journal_error"],
        stopped_by=data["stopped_by"],
    )
