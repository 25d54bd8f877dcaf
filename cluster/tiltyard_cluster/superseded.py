"""Tells that a start sets earlier results aside: they were paid for, and their runs are paid for again."""

from tiltyard_cluster.budget import Spent
from tiltyard_cluster.layout import SUPERSEDED, TRIAL
from tiltyard_cluster.publish import Publisher
from tiltyard_specs.receipt import parse_receipt


def superseded_note(publisher: Publisher) -> str | None:
    """How many records of an older spec make way and what they cost; None when there are none.

    Args:
        publisher: Through which the runs of the plan were looked up; a read-only one has moved nothing.
    """
    records, spent = publisher.superseded, Spent()
    if not records:
        return None
    for record in (*records, *publisher.superseded_attempts):
        spent = spent.plus(record)
    text = publisher.store.get(TRIAL)
    scripted = text is not None and parse_receipt(text, TRIAL).policy.get("models") == "scripted"
    aside = "would be set aside" if publisher.read_only else "set aside"
    return (
        f"results of an older spec {aside} in {SUPERSEDED}/: {len(records)} "
        f"({spent.words(scripted=scripted)}); they come back when the spec is changed back"
    )
