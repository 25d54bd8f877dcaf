"""`tiltyard images`: the layers that runs are made of. Only Tiltyard's own images are ever touched."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.loading import load

if TYPE_CHECKING:
    from tiltyard_images import Image, ImageBuilder, PruneResult

images_app = typer.Typer(help="List, build and remove Tiltyard's own images.", rich_markup_mode=None)

Timeout = Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Limit for the build of one layer.")]


@images_app.command(name="list", short_help="List the images, and what they take.")
def list_() -> None:
    """List Tiltyard's images: layer, version, size, origin."""
    from tiltyard_images import connect, list_images  # noqa: PLC0415

    images = list_images(connect())
    for image in images:
        facts = [
            image.tag,
            _size(image.size),
            f"{_size(image.own_size)} of its own",
            image.version,
            image.origin,
        ]
        typer.echo("  ".join(fact for fact in facts if fact))
    typer.echo(f"{len(images)} images, {_size(sum(image.own_size for image in images))} in all")


@images_app.command(short_help="Build images ahead of a trial.")
def build(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="base, forwarder, claude, codex; default: all."),
    ] = None,
    spec: Annotated[
        Path | None, typer.Option(metavar="SPEC", help="Build everything that the runs of this spec need.")
    ] = None,
    timeout: Timeout = 1800,
) -> None:
    """Build images ahead of a trial; what is there already is left as it is."""
    builder = _builder(timeout, offline=False)
    if spec is not None:
        _build_spec(spec, builder)
        return
    for name in _known(names or []):
        _tell(builder.agent(name) if name not in {"base", "forwarder"} else getattr(builder, name)())


@images_app.command(short_help="Make the base image by mmdebstrap, without a registry.")
def bootstrap(timeout: Timeout = 1800) -> None:
    """Make the base image on this machine by mmdebstrap, without asking a registry."""
    _tell(_builder(timeout, offline=True).base())


@images_app.command(short_help="Remove images that nothing uses.")
def prune(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME|TAG]...", help="Layers, or single tags; default: all."),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove Tiltyard's images that nothing uses, to free disk."""
    from tiltyard_cluster.options import cache_folder  # noqa: PLC0415
    from tiltyard_images import connect  # noqa: PLC0415
    from tiltyard_images import prune as remove  # noqa: PLC0415

    _tell_prune(
        remove(connect(), cache_folder(os.environ), names=tuple(names or ()), dry_run=dry_run),
        dry_run=dry_run,
    )


images_app.command(name="clean", hidden=True)(prune)


def _builder(timeout: float, *, offline: bool) -> "ImageBuilder":
    from tiltyard_cluster.options import cache_folder  # noqa: PLC0415
    from tiltyard_images import ImageBuilder, connect  # noqa: PLC0415

    def say(line: str) -> None:
        typer.echo(line, err=True)

    return ImageBuilder(connect(), cache_folder(os.environ), say, timeout, offline=offline)


def _known(names: list[str]) -> list[str]:
    from tiltyard_images import AGENT_PINS  # noqa: PLC0415
    from tiltyard_specs.errors import UsageError  # noqa: PLC0415

    every = ["base", "forwarder", *AGENT_PINS]
    for name in names:
        if name not in every:
            raise UsageError(f'no image is called "{name}"; there is {", ".join(every)}')
    return names or every


def _build_spec(spec: Path, builder: "ImageBuilder") -> None:
    from tiltyard_cluster.image_build import build_images  # noqa: PLC0415
    from tiltyard_specs import select  # noqa: PLC0415

    failures = build_images(select(load(spec)), builder, os.environ)
    for arm, reason in failures:
        typer.echo(f"arm {arm}: {reason}", err=True)
    if failures:
        from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

        raise typer.Exit(int(ExitCode.UNHEALTHY))
    typer.echo(f"All images of {spec} are there.")


def _tell(image: "Image") -> None:
    origin = f", {image.origin}" if image.origin else ""
    typer.echo(f"{image.tag} {'built' if image.built else 'was there'}{origin}")


def _tell_prune(result: "PruneResult", *, dry_run: bool) -> None:
    for image in result.removed:
        typer.echo(f"{'would remove' if dry_run else 'removed'} {image.tag}")
    for image, reason in result.kept:
        typer.echo(f"kept {image.tag}: {reason}")
    typer.echo(f"{len(result.removed)} images, {_size(result.freed)}")


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:  # noqa: PLR2004  # SI units
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
