"""The `tiltyard` command, and the one place where errors become a sentence and an exit code."""

import sys
from collections.abc import Sequence
from typing import Any

import typer

from tiltyard_cli.commands.check import check
from tiltyard_cli.commands.help import help_command
from tiltyard_cli.commands.images import images_app
from tiltyard_cli.commands.init import init
from tiltyard_cli.commands.model_script import model_script
from tiltyard_cli.commands.report import report
from tiltyard_cli.commands.run import run
from tiltyard_specs.errors import TiltyardError
from tiltyard_specs.exit_codes import ExitCode

# Typer exports only this leaf of its error tree, and has moved the root before.
_CommandLineError: Any = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)

app = typer.Typer(
    name="tiltyard",
    help="Repeatable A/B trials of coding agents in throwaway containers.",
    epilog="Start with `tiltyard init trial.yaml`, or `make demo` in a checkout. Exit codes: `tiltyard help exit-codes`.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(init)
app.command()(check)
app.command()(run)
app.command()(report)
app.command(name="model-script")(model_script)
app.add_typer(images_app, name="images")
app.add_typer(images_app, name="image", hidden=True)
app.command(name="help")(help_command)


@app.callback(invoke_without_command=True)
def front(
    context: typer.Context,
    *,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Repeatable A/B trials of coding agents in throwaway containers."""
    if version:
        from importlib.metadata import version as installed  # noqa: PLC0415  # 20 ms that only this option needs

        typer.echo(f"tiltyard {installed('tiltyard')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with a code of the table."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except TiltyardError as error:
        typer.echo(f"tiltyard: {error}", err=True)
        return int(error.exit_code)
    except _CommandLineError as error:
        error.show()
        return int(ExitCode.USAGE)
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("tiltyard: interrupted", err=True)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does.
        sys.stderr.close()
        return int(ExitCode.OK)
    return result if isinstance(result, int) else int(ExitCode.OK)
