"""Texts of any length, made to fit a line, numbers with their nouns, and amounts."""

_TEN_CENTS = 0.1


def one_line(text: str, longest: int = 200) -> str:
    """A text that may be a log, for a line of its own: no line ends, and the middle left out if it is long.

    It is cut between words, so that a path is there whole or not at all.
    """
    words = text.split()
    whole = " ".join(words)
    if len(whole) <= longest:
        return whole
    half = (longest - 5) // 2
    before, after = _whole_words(whole[: half + 1]), _whole_words(whole[: -half - 2 : -1])[::-1]
    return f"{before} ... {after}"


def counted(count: int, noun: str) -> str:
    """A number and its noun: 1 run, 2 runs."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def usd_text(usd: float) -> str:
    """Dollars to the cent, or finer below ten cents: what was spent is not shown as nothing."""
    if usd == 0 or usd >= _TEN_CENTS:
        return f"${usd:,.2f}"
    text = f"${usd:.4f}"
    return "<$0.0001" if text == "$0.0000" else text


def _whole_words(text: str) -> str:
    """Without the last word, which may be cut; a single long word is cut all the same."""
    return text.rpartition(" ")[0] or text[:-1]
