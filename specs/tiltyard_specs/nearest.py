"""The nearest allowed word to a misspelt one, for every error that says "did you mean"."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, allowed: Iterable[str]) -> list[str]:
    """The one allowed word that is close, or none."""
    folded = {name.casefold(): name for name in sorted(allowed, reverse=True)}
    return [folded[match] for match in get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)]


def did_you_mean(word: str, allowed: Iterable[str], label: str = "Allowed") -> str:
    """A hint such as `did you mean "setup"? Allowed: args, auth, setup`."""
    names = sorted(set(allowed))
    guess = "".join(f'did you mean "{name}"? ' for name in nearest(word, names))
    # After a guess a sentence begins; without one it goes on.
    label = label if guess else label[:1].lower() + label[1:]
    return f"{guess}{label}: {', '.join(names) or 'none'}"
