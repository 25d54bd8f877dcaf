"""The contracts of Tiltyard: what is read, written and agreed between the rooms.

The names are loaded when they are first used: every command needs errors and exit codes, few need pydantic.
No module may be called like a name that is loaded so: importing the module would hide the name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltyard_specs.advice import warnings
    from tiltyard_specs.agents import Agent
    from tiltyard_specs.arms import Arm, McpServer, Skill
    from tiltyard_specs.calls import Call
    from tiltyard_specs.canonical import canonical_json, content_id
    from tiltyard_specs.errors import (
        DataError,
        InterruptedTrialError,
        TiltyardError,
        UnavailableError,
        UsageError,
    )
    from tiltyard_specs.exit_codes import ExitCode
    from tiltyard_specs.keys import key_names, missing_keys
    from tiltyard_specs.load import Trial, load_trial
    from tiltyard_specs.outcomes import Outcome
    from tiltyard_specs.problems import MissingKeyError, Problem, SpecError
    from tiltyard_specs.questions import Capability, Question, Repo
    from tiltyard_specs.receipt import Selection, TrialReceipt, parse_receipt
    from tiltyard_specs.record import RunRecord, parse_record
    from tiltyard_specs.redact import Redactor, looks_like_key
    from tiltyard_specs.rewrite import rewrite_model
    from tiltyard_specs.selecting import select
    from tiltyard_specs.trial import AllowHosts, Budget, Defaults, GatewaySpec, Limits, PriceRow, TrialSpec
    from tiltyard_specs.usage import Usage, total_usage
    from tiltyard_specs.variants import AgentVariant

_HOMES = {
    "advice": ("warnings",),
    "agents": ("Agent",),
    "arms": ("Arm", "McpServer", "Skill"),
    "calls": ("Call",),
    "canonical": ("canonical_json", "content_id"),
    "errors": ("DataError", "InterruptedTrialError", "TiltyardError", "UnavailableError", "UsageError"),
    "exit_codes": ("ExitCode",),
    "keys": ("key_names", "missing_keys"),
    "load": ("Trial", "load_trial"),
    "outcomes": ("Outcome",),
    "problems": ("MissingKeyError", "Problem", "SpecError"),
    "questions": ("Capability", "Question", "Repo"),
    "receipt": ("Selection", "TrialReceipt", "parse_receipt"),
    "record": ("RunRecord", "parse_record"),
    "redact": ("Redactor", "looks_like_key"),
    "rewrite": ("rewrite_model",),
    "selecting": ("select",),
    "trial": ("AllowHosts", "Budget", "Defaults", "GatewaySpec", "Limits", "PriceRow", "TrialSpec"),
    "usage": ("Usage", "total_usage"),
    "variants": ("AgentVariant",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "AgentVariant",
    "AllowHosts",
    "Arm",
    "Budget",
    "Call",
    "Capability",
    "DataError",
    "Defaults",
    "ExitCode",
    "GatewaySpec",
    "InterruptedTrialError",
    "Limits",
    "McpServer",
    "MissingKeyError",
    "Outcome",
    "PriceRow",
    "Problem",
    "Question",
    "Redactor",
    "Repo",
    "RunRecord",
    "Selection",
    "Skill",
    "SpecError",
    "TiltyardError",
    "Trial",
    "TrialReceipt",
    "TrialSpec",
    "UnavailableError",
    "Usage",
    "UsageError",
    "canonical_json",
    "content_id",
    "key_names",
    "load_trial",
    "looks_like_key",
    "missing_keys",
    "parse_receipt",
    "parse_record",
    "rewrite_model",
    "select",
    "total_usage",
    "warnings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
