"""The templates' environment: everything is escaped, and what a terminal or browser would obey is shown.

A page allows itself nothing: no network, no script but its own, which is named by its hash. So what an agent
wrote stays text even where an escape were forgotten.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tiltyard_report import _format as fmt
from tiltyard_specs.visible import visible

_HERE = Path(__file__).parent / "templates"
_SITE = Path(__file__).parent.parent / "site" / "templates"


@cache
def environment() -> Environment:
    """The environment of the page and the site."""
    made = Environment(
        loader=ChoiceLoader([FileSystemLoader(_HERE), FileSystemLoader(_SITE)]),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"amount": _amount, "dollars": _dollars, "count": _count, "whole": _whole}
    made.globals |= {"style": asset("style.css"), "script": asset("page.js"), "policy": _policy}
    return made


def render(template: str, values: Mapping[str, object]) -> str:
    """A page."""
    return environment().get_template(template).render(values)


@cache
def asset(name: str) -> Markup:
    """A file that is put into each page as it is: a page that is moved takes it along."""
    return Markup((_HERE / name).read_text())  # noqa: S704 - our own file


def shown(text: str) -> str:
    """Foreign text with its line ends and tabs; every other control character and override as an escape."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(visible(part) for part in line.split("\t")) for line in lines)


def size(count: int) -> str:
    """A number of bytes."""
    units = ("bytes", "KiB", "MiB", "GiB")
    rank = min(max(count.bit_length() - 1, 0) // 10, len(units) - 1)
    return f"{count / 1024**rank:,.1f} {units[rank]}" if rank else f"{count:,} bytes"


def _shown(value: object) -> object:
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _policy(*, live: bool) -> str:
    """The content security policy. A page that is served may ask its server whether there is news."""
    digest = base64.b64encode(hashlib.sha256(asset("page.js").encode()).digest()).decode()
    parts = [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{digest}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join([*parts, "connect-src 'self'"] if live else parts)


def _amount(value: object) -> str:
    return fmt.significant(float(value)) if isinstance(value, int | float) else fmt.NONE


def _whole(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) else fmt.NONE


def _dollars(value: object) -> str:
    return fmt.dollars(float(value)) if isinstance(value, int | float) else fmt.NONE


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else fmt.NONE
