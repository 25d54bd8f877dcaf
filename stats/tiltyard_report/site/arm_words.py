"""How an arm compares with the baseline, as its page says it: the report's numbers and verdicts."""

from collections.abc import Iterator

from tiltyard_report import _format as fmt
from tiltyard_report._verdicts import decision
from tiltyard_report.model import ArmRow


def beside(row: ArmRow) -> Iterator[tuple[str, str]]:
    """A label and a text for each comparison that the report has."""
    tokens, passes = row.relative_tokens, row.delta.passes if row.delta else None
    if tokens and tokens.decision:
        ratio = tokens.ratio
        said = [f"{fmt.factor(ratio.estimate)}x ({fmt.factor_bounds(ratio)})"] if ratio else []
        yield "Tokens beside the baseline's", ", ".join([*said, decision(tokens.decision)])
    if passes:
        interval = passes.interval
        points = f"{fmt.points(interval.estimate)} points ({fmt.point_bounds(interval)})"
        yield "Passes beside the baseline's", f"{points}, {decision(passes.decision)}"
