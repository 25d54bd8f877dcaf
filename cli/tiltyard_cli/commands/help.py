"""`tiltyard help TOPIC`: texts that belong to no single command."""

from typing import Annotated

import typer

from tiltyard_cli.invocation import suggest
from tiltyard_specs.errors import UsageError
from tiltyard_specs.exit_codes import MEANING

_TOPICS = ("exit-codes",)


def help_command(
    context: typer.Context,
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="exit-codes, or a command.")] = None,
) -> None:
    """Explain a topic: exit-codes, or a command."""
    if topic == "exit-codes":
        for code, meaning in MEANING.items():
            typer.echo(f"{int(code):>3}  {meaning}")
        return
    parent = context.parent
    assert parent is not None  # noqa: S101  # a command always has its group above it
    if topic is None:
        typer.echo(parent.get_help())
        return
    command = getattr(parent.command, "commands", {}).get(topic)
    if command is None:
        raise UsageError(
            f'no help on "{topic}"; there is {", ".join(_TOPICS)}, and each command: {suggest("--help")}'
        )
    with typer.Context(command, info_name=topic, parent=parent) as inner:
        typer.echo(command.get_help(inner))
