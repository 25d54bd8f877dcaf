"""What a result may be taken to say, and what must not be claimed from it, in sentences."""

from collections.abc import Iterable

from tiltyard_stats import _validate as check

_REFUSALS = {
    "n=0": "Do not claim anything on {what}: there is no observation.",
    "n<2": "Do not claim a range for {what}: one observation shows no spread.",
    "zero-variance": "Do not claim certainty on {what}: no spread seen is not no spread.",
    "zero-mean": "Do not claim a ratio of {what}: a mean of 0 has none.",
    "few-runs": "Do not claim a difference in {what}: a side has fewer than 4 runs.",
    "provisional": "Do not claim {what} as settled: a side has fewer than 8 runs.",
    "multiplicity": "Do not claim a difference in {what}: among all comparisons it may be chance.",
    "within-noise": "Do not claim that {what} got worse: the drop is within noise.",
    "unknown-bound": "Do not claim a verdict on {what}: a bound of it is not known.",
    "unproven": "Do not claim parity of {what}: no difference shown is not no difference.",
    "few-successes": "Do not claim a cost of {what}: a side has fewer than 5 successes.",
    "no-successes": "Do not claim a cost of {what}: a side has no success.",
    "shock": "Do not claim a difference in {what} from single cases: whole runs differ by more than chance.",
    "rerun": "Do not claim a verdict on {what}: whole runs differ by more than chance, run it again.",
    "few-clusters": "Do not claim that {what} holds for other groups: there are few of them.",
    "attempts-not-independent": "Do not claim significance for {what}: attempts are not independent.",
    "unadjusted": "Do not claim an effect of one factor on {what}: the factors are not crossed evenly.",
    "confounded": "Do not claim an effect of one factor on {what}: it always changed together with another.",
    "one-category": "Do not claim agreement on {what}: only one category was used.",
    "few-items": "Do not claim the range of {what} as exact: there are fewer than 30 items.",
    "uninformative-judge": "Do not claim {what} from this judge: it is no better than chance.",
}

_BEYOND = {
    "runs": "other runs of the same questions",
    "questions": "other questions",
    "cases": "other cases",
    "pairs": "other pairs",
    "items": "other items",
    "groups": "other groups",
    "trials": "other trials",
}


def do_not_claim(what: str, codes: Iterable[str]) -> tuple[str, ...]:
    """One sentence for each thing that a result refuses.

    Parameters
    ----------
    what : str
        The quantity in words, such as `the cost of arm "skills"`.
    codes : iterable of str
        Warning codes of results and decisions on it, and the verdict `unproven` of `parity`.

    Returns
    -------
    tuple of str
        In the order of the codes, none twice. Codes that only tell how a number was made refuse nothing.

    Examples
    --------
    >>> do_not_claim("the pass rate", ["pooled-variance", "within-noise"])
    ('Do not claim that the pass rate got worse: the drop is within noise.',)
    """
    return tuple(_REFUSALS[code].format(what=what) for code in dict.fromkeys(codes) if code in _REFUSALS)


def estimand(quantity: str, claim: str, *, method: str, n: int, confidence: float = 0.95) -> str:
    """What was estimated, on what, and how far it reaches.

    Parameters
    ----------
    quantity : str
        In words, such as `mean cost of "skills" over "plain"`.
    claim : str
        The claim of the result, such as `these questions` or `cases like these`.
    method : str
        Its method.
    n : int
        Its observations, at least 1.
    confidence : float
        Its nominal coverage.

    Returns
    -------
    str
        Two sentences; the second says whether it reaches beyond what was run.

    Raises
    ------
    ValueError
        When `n` is below 1 or `confidence` outside (0, 1).

    Examples
    --------
    >>> estimand("pass rate", "these cases", method="wilson", n=40)
    'Estimated: pass rate, on these cases (40 observations, wilson, 95%). It says nothing on other cases.'
    """
    check.whole("n", n, 1)
    share = f"{100 * check.proportion('confidence', confidence):g}%"
    head = f"Estimated: {quantity}, on {claim} ({n} observation{'' if n == 1 else 's'}, {method}, {share})."
    if claim == "blocked":
        return f"{head} It supports no claim."
    kind = next((noun for noun in _BEYOND if noun in claim), None)
    if claim.startswith("these") or kind is None:
        return f"{head} It says nothing on {_BEYOND[kind] if kind else 'anything else'}."
    return f"{head} It holds for {claim} if those run were drawn from them at random."
