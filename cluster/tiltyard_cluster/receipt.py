"""Writes trial.json: what was run, in which order, with what."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tiltyard_cluster.arm_images import ArmImages
from tiltyard_cluster.asked import asked_for
from tiltyard_cluster.known_secrets import known_secrets, masked
from tiltyard_cluster.layout import MANIFEST, SUPERSEDED, TRIAL
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.registration import registered
from tiltyard_cluster.resolve import Resolved
from tiltyard_cluster.store import Store
from tiltyard_images import EngineFacts
from tiltyard_specs import Trial
from tiltyard_specs.prices import PriceTable, price_table_id
from tiltyard_specs.receipt import EngineFact, RepoFact, TrialReceipt, parse_receipt
from tiltyard_specs.record import ImageFact


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a start has found out about this machine and its images."""

    images: Mapping[str, ImageFact]
    versions: Mapping[str, str]
    engine: EngineFact | None


def write_receipt(
    store: Store,
    trial: Trial,
    resolved: Resolved,
    images: ArmImages,
    engine: EngineFacts,
    options: RunOptions,
) -> None:
    """Write trial.json, keys masked. One with runs that the spec no longer has goes to `superseded/`."""
    fact = EngineFact(version=engine.version, platform=engine.platform, api_version=engine.api)
    facts = _Facts(images.all_facts(), images.all_versions(), fact)
    _write(store, trial, resolved, facts, options)


def renew_receipt(store: Store, trial: Trial, resolved: Resolved, options: RunOptions) -> TrialReceipt:
    """The receipt of a result, written anew where it is not of the runs that were asked for.

    So it is where all of them were there already: the spec was changed back, or a shard has none.
    """
    text = store.get(TRIAL)
    earlier = parse_receipt(text, TRIAL) if text else None
    if earlier and asked_for(trial, resolved, earlier).plan_id == earlier.plan_id:
        return earlier
    return _write(store, trial, resolved, _Facts({}, {}, earlier.engine if earlier else None), options)


def _write(
    store: Store, trial: Trial, resolved: Resolved, facts: _Facts, options: RunOptions
) -> TrialReceipt:
    text = store.get(TRIAL)
    earlier = parse_receipt(text, TRIAL) if text else None
    receipt = _receipt(trial, resolved, facts, options, earlier)
    # The manifest is of the receipt before.
    store.remove(MANIFEST)
    if text and earlier and not set(earlier.order) <= set(receipt.order):
        store.put(f"{SUPERSEDED}/trial-{earlier.plan_id}.json", text)
    store.put(TRIAL, masked(receipt, known_secrets(trial, options.environ)).to_json().encode())
    return receipt


def _receipt(
    trial: Trial,
    resolved: Resolved,
    facts: _Facts,
    options: RunOptions,
    earlier: TrialReceipt | None,
) -> TrialReceipt:
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    plan = asked_for(trial, resolved, earlier)
    registration, amendments = registered(trial, now, earlier)
    return TrialReceipt(
        trial=trial.spec.name,
        plan_id=plan.plan_id,
        seed=plan.seed,
        spec=trial.whole.model_dump(mode="json"),
        order=tuple(run.run_id for run in plan.runs),
        runs_expected=len(plan.runs),
        runs_by_arm=dict(sorted(Counter(run.arm for run in plan.runs).items())),
        shard=resolved.shard,
        selection=trial.selection,
        repos=(earlier.repos if earlier else {}) | _repos(trial, resolved),
        images=(earlier.images if earlier else {}) | dict(facts.images),
        versions=(earlier.versions if earlier else {}) | dict(facts.versions),
        prices=(earlier.prices if earlier else {}) | _prices(trial),
        engine=facts.engine,
        policy=_policy(trial, options),
        started_at=earlier.started_at if earlier else now,
        registration=registration,
        amendments=amendments,
    )


def _repos(trial: Trial, resolved: Resolved) -> dict[str, RepoFact]:
    facts = {}
    for repo in trial.spec.repos:
        checkout = resolved.checkouts.get(repo.name)
        if checkout is not None:
            facts[repo.name] = RepoFact(source=repo.source, ref=repo.ref, commit=checkout.commit)
    return facts


def _prices(trial: Trial) -> dict[str, PriceTable]:
    prices = trial.spec.prices
    return {price_table_id(prices): prices} if prices else {}


def _policy(trial: Trial, options: RunOptions) -> dict[str, object]:
    data = trial.spec.model_dump(mode="json")
    policy: dict[str, object] = {name: data[name] for name in ("network", "history", "setup_scope", "limits")}
    policy["prompt_cache"] = data["gateway"]["prompt_cache"]
    policy["nonce"] = data["gateway"]["nonce"]
    policy["models"] = "scripted" if options.model_script else "provider"
    return policy
