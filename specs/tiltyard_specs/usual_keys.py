"""The variables in which providers' keys usually stand. Apart, because every command needs them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltyard_specs.spec_base import Provider

DEFAULT_KEYS: dict["Provider", str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""Used for a provider whose key the spec does not name, unless its upstream is one of the user's own."""
