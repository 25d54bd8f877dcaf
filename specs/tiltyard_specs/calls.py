"""One metered model call, as the gateway writes it to calls.jsonl."""

from typing import Literal

from tiltyard_specs.base import Model
from tiltyard_specs.usage import Usage

Wire = Literal["anthropic", "openai-responses", "openai-chat", "gemini"]


class Call(Model):
    """One request of an agent to a model, billable or refused."""

    index: int
    """Ordinal within the attempt, from 1."""
    started_at: str
    """RFC 3339, UTC."""
    wire: Wire | None
    """Which API the request spoke; None for a refused path."""
    method: str
    path: str
    role: str | None
    """The model that the agent asked for."""
    model: str | None
    """The model that the provider says it ran."""
    stream: bool
    status: int | None
    """HTTP status passed to the agent; None when the agent hung up before one came."""
    outcome: Literal["ok", "error", "cut", "hung_up", "refused", "free"]
    """free: a known uncounted path; refused: nothing was sent on; cut: the provider broke off a stream."""
    usage: Usage | None
    """As the provider reported it; None when it reported none."""
    cost_usd: float | None
    """From the price table; None when the price or the usage is unknown."""
    seconds: float
    first_byte_seconds: float | None
    tools: tuple[str, ...] = ()
    """Names of the tools that the request offered: what of the arm reached the model."""
    session: str | None = None
    """The agent's own session id, where it sends one."""
    message: str | None = None
    """The provider's error text, redacted and cut to 500 characters."""
    asked: str | None = None
    """The model that was asked for instead of the agent's choice, where a rewrite rule changed it."""
    stripped: tuple[str, ...] = ()
    """Tools by which the provider would have reached the web, taken out of the request."""
    imputed: bool = False
    """The agent's own login paid: the cost is what its tokens cost at list price."""
    reason: str | None = None
    """For machines, why the request was refused: limit, budget, unpriced, host, or key."""
    held_seconds: float = 0.0
    """How long the gateway held it back: the provider was overloaded, or a budget had no room yet."""
    charged: Literal["usage", "reserve"] | None = None
    """What counts against budgets: the reported usage, or, where that is not whole, the call's reserve."""
    over_reserve: bool = False
    """It used more than was set aside for it, which may pass a budget or limit; scripts can do that."""
    charged_usd: float | None = None
    """None when nothing was charged, or when the price is unknown."""
    charged_tokens: int | None = None
    """None when nothing was charged."""
    sent_bytes: int | None = None
    """What the agent sent through a tunnel to an allowed host; such a connection is a free call."""
    received_bytes: int | None = None
    """What came back through the tunnel."""
