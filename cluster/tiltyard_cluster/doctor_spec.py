"""Says what a trial would meet on this machine: keys, repos, images, limits. Changes nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import docker
import requests
from docker.errors import DockerException

from tiltyard_cluster.arm_images import ArmImages
from tiltyard_cluster.doctor import Finding, missing, note, ok
from tiltyard_cluster.look_only import ImageFinder, is_commit, look_up
from tiltyard_cluster.options import RunOptions, cache_folder
from tiltyard_cluster.plan import arm_repo, make_plan
from tiltyard_cluster.readiness import require_budget
from tiltyard_cluster.supported import require_supported
from tiltyard_images import Checkout
from tiltyard_images.errors import RepoError
from tiltyard_images.space import GB
from tiltyard_specs import ExitCode, Repo, Trial, missing_keys, warnings
from tiltyard_specs.errors import TiltyardError, UnavailableError, UsageError
from tiltyard_specs.keys import key_names

Commits = dict[str | None, Checkout | None]
_SHOWN = 6


def examine_spec(
    trial: Trial, engine: docker.DockerClient | Finding, environ: Mapping[str, str], *, scripted: bool = False
) -> Iterator[Finding]:
    """What stands in the way of a trial, or is worth knowing before it.

    Args:
        trial: A right trial, after `select`.
        engine: What `open_engine` returned.
        environ: Where keys come from.
        scripted: A model script answers, so that nothing is paid and no key is needed.
    """
    yield ok(f"{trial.path.name}: the spec is right")
    try:
        require_supported(trial, environ, scripted=scripted)
    except UnavailableError as error:
        yield missing(str(error))
    if not scripted:
        yield from _keys(trial, environ)
        yield from _budget(trial, environ)
    commits: Commits = {None: None}
    for repo in trial.spec.repos:
        yield _repo(trial, repo, commits)
    if isinstance(engine, docker.DockerClient):
        yield from _on_engine(trial, engine, environ, commits)
    for warning in warnings(trial, scripted=True):
        yield note(str(warning))


def _keys(trial: Trial, environ: Mapping[str, str]) -> Iterator[Finding]:
    problems = missing_keys(trial, environ)
    for problem in problems:
        yield missing(f"key: {problem}")
    agents = (agent.under(arm) for agent in trial.agents for arm in trial.spec.arms)
    needed = {name for agent in agents for name in key_names(trial.spec, agent).values()}
    if not needed:
        yield ok("keys: none is needed")
    elif not problems:
        yield ok(f"keys: {', '.join(sorted(needed))} set")


def _budget(trial: Trial, environ: Mapping[str, str]) -> Iterator[Finding]:
    try:
        require_budget(trial, RunOptions(environ=environ))
    except UsageError as error:
        yield note(f"budget: {error}")


def _repo(trial: Trial, repo: Repo, commits: Commits) -> Finding:
    source = str((trial.folder / repo.source).resolve()) if repo.is_local else repo.source
    if repo.is_local and not Path(source).exists():
        return missing(f"repo {repo.name}: there is no {source}", ExitCode.DATA)
    try:
        found = look_up(source, repo.ref)
    except RepoError as error:
        # A wrong name is the spec's fault; that a host does not answer may be this machine's.
        code = ExitCode.DATA if repo.is_local or "has no ref" in str(error) else ExitCode.UNAVAILABLE
        return missing(f"repo {repo.name}: {repo.source} cannot be used: {error}", code)
    answers = f"repo {repo.name}: {repo.source} answers"
    if found is None:
        if repo.ref is not None and is_commit(repo.ref):
            commits[repo.name] = Checkout(source, repo.ref, repo.ref, Path(source))
        return note(f"{answers}; whether it holds the commit {repo.ref} shows when it is fetched")
    commits[repo.name] = found
    return ok(f"{answers}, {repo.ref or 'its default branch'} is {found.commit[:12]}")


def _on_engine(
    trial: Trial, client: docker.DockerClient, environ: Mapping[str, str], commits: Commits
) -> Iterator[Finding]:
    try:
        info = client.info()
        yield from _limits(trial, info["NCPU"], info["MemTotal"])
        yield from _images(trial, ImageFinder(client, cache_folder(environ)), commits)
    except (DockerException, requests.RequestException, TiltyardError, OSError) as error:
        yield missing(f"engine: it failed while it was asked: {error}")


def _limits(trial: Trial, cpus: int, memory: int) -> Iterator[Finding]:
    limits = trial.spec.limits
    if limits.cpus > cpus:
        yield missing(
            f"limits: a run asks for {limits.cpus:g} processors, and this machine has {cpus}; lower it"
        )
        return
    if limits.memory > memory:
        yield note(
            f"limits: a run may use {limits.memory / GB:.1f} GB of memory, "
            f"and this machine has {memory / GB:.1f} GB"
        )
    fitting = max(1, int(min(cpus / limits.cpus, memory * 0.8 / limits.memory)))
    wanted = trial.spec.defaults.parallel or fitting
    if wanted > fitting:
        yield note(f"limits: {wanted} runs at once are asked for, and this machine has room for {fitting}")
    else:
        yield ok(
            f"limits: {limits.cpus:g} processors and {limits.memory / GB:.1f} GB a run, {wanted} at once"
        )


def _images(trial: Trial, finder: ImageFinder, commits: Commits) -> Iterator[Finding]:
    known = {name: found.commit for name, found in commits.items() if name and found}
    placeholders = {repo.name: "unknown" for repo in trial.spec.repos}
    images = ArmImages(trial, finder, commits, versions={})
    unknown = set()
    finder.forwarder()
    for run in make_plan(trial, placeholders | known).runs:
        repo = arm_repo(trial.question(run.question), trial.arm(run.arm))
        if repo in commits:
            images.get(run, trial.agent(run.agent))
        else:
            unknown.add(str(repo))
    if unknown:
        yield note(f"images: not known for {', '.join(sorted(unknown))}, whose commit is not known")
    if tags := list(finder.missing):
        more = f" and {len(tags) - _SHOWN} more" if len(tags) > _SHOWN else ""
        yield note(f"images: {len(tags)} would be built: {', '.join(tags[:_SHOWN])}{more}")
    elif not unknown:
        yield ok("images: all are there")
