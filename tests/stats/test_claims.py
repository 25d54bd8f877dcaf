"""What may be claimed, in sentences."""

from pathlib import Path

import pytest

import tiltyard_stats as stats
from tiltyard_stats.claims import _REFUSALS


@pytest.mark.parametrize(
    ("claim", "ending"),
    [
        ("these runs", "It says nothing on other runs of the same questions."),
        ("these questions", "It says nothing on other questions."),
        ("cases like these", "It holds for cases like these if those run were drawn from them at random."),
        ("blocked", "It supports no claim."),
    ],
)
def test_the_reach_of_a_claim(claim: str, ending: str) -> None:
    """A claim on what was run stays there; a wider one says what it assumes."""
    sentence = stats.estimand("cost", claim, method="log-t", n=1, confidence=0.9)

    assert sentence.endswith(ending)
    assert "(1 observation, log-t, 90%)" in sentence


def test_one_line_per_refusal() -> None:
    """Each refusal once, in order; how a number was made refuses nothing."""
    lines = stats.do_not_claim("cost", ["few-runs", "pooled-variance", "few-runs", "unknown-bound"])

    assert len(lines) == 2
    assert all(line.startswith("Do not claim") and "cost" in line and line.endswith(".") for line in lines)


def test_every_refusal_is_a_code_that_is_given() -> None:
    """No sentence is dead: each code stands in a module of the package."""
    modules = Path(stats.__file__).parent.rglob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in modules if path.name != "claims.py")

    assert [code for code in _REFUSALS if f'"{code}"' not in text] == []


@pytest.mark.parametrize(("n", "confidence"), [(0, 0.9), (3, 1.0)])
def test_an_estimand_needs_data(n: int, confidence: float) -> None:
    """Nothing was estimated from nothing."""
    with pytest.raises(ValueError, match=r"must be"):
        stats.estimand("cost", "these runs", method="t", n=n, confidence=confidence)
