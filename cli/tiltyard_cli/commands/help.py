"""`tiltyard help TOPIC`: texts that belong to no single command."""

from contextlib import ExitStack
from typing import Annotated

import typer

from tiltyard_cli.invocation import suggest
from tiltyard_specs.errors import UsageError
from tiltyard_specs.exit_codes import MEANING

_TOPICS = ("exit-codes",)


def help_command(
    context: typer.Context,
    topic: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", help="exit-codes, or a command, as `cluster up`.")
    ] = None,
) -> None:
    """Explain a topic: exit-codes, or a command."""
    if topic == ["exit-codes"]:
        for code, meaning in MEANING.items():
            typer.echo(f"{int(code):>3}  {meaning}")
        return
    parent = context.parent
    assert parent is not None  # noqa: S101  # a command always has its group above it
    with ExitStack() as stack:
        inner = parent
        for name in topic or ():
            command = getattr(inner.command, "commands", {}).get(name)
            if command is None:
                raise UsageError(
                    f'no help on "{" ".join(topic or ())}"; there is {", ".join(_TOPICS)}, '
                    f"and each command: {suggest('--help')}"
                )
            inner = stack.enter_context(typer.Context(command, info_name=name, parent=inner))
        typer.echo(inner.get_help())
