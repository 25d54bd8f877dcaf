"""How the numbers of a report were computed, in sentences. What holds of one comparison stands with it."""

from tiltyard_report import _format as fmt
from tiltyard_report._options import DEFAULT
from tiltyard_report._selection import Selection
from tiltyard_stats.decide import MINIMUM_RUNS, SETTLED_RUNS


def methods(chosen: Selection, comparisons: int) -> tuple[str, ...]:
    """How the numbers were computed."""
    level, name = fmt.level(chosen.confidence), chosen.options.methods.name
    lines = [
        f"Intervals are {level}% intervals and speak about these questions.",
        "Correct: Wilson's interval on the runs.",
        "Timeout, limit, no_answer and tampered count as failures; infra and its like are excluded.",
        "Tokens, turns and seconds: mean of the question means; Student's t, spread within questions.",
        "Relative cost: ratio of arithmetic means by question, their geometric mean, and a log-t interval.",
        f"Pass rates: {_DESIGNS[chosen.options.design]}",
        "Pass@k, pass^k and steady questions: over questions, so they speak of questions like these.",
        f"Verdicts need {MINIMUM_RUNS} runs a side and are provisional under {SETTLED_RUNS}.",
    ]
    if comparisons > 1:
        lines.append(f"Verdicts are corrected for {comparisons} comparisons (Holm); the intervals are not.")
    if name != DEFAULT:
        lines.append(f"By --method {name}: not the calibrated default, where that formula applies.")
    return tuple(lines)


_DESIGNS = {
    "curated": "each question weighs the same; the questions are fixed, and the noise is that of the runs.",
    "sampled": "each question weighs the same; Student's t over questions, which stand for others like them.",
    "clustered": "each question weighs the same; the error is over groups, which stand for other groups.",
}
