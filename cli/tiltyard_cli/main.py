"""The `tiltyard` command, and the one place where errors become a sentence and an exit code."""

import errno
import os
import re
import select
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer

from tiltyard_cli.commands.check import check
from tiltyard_cli.commands.cluster import cluster_app
from tiltyard_cli.commands.doctor import doctor
from tiltyard_cli.commands.fidelity import fidelity
from tiltyard_cli.commands.help import help_command
from tiltyard_cli.commands.images import images_app
from tiltyard_cli.commands.init import init
from tiltyard_cli.commands.merge import merge
from tiltyard_cli.commands.model_script import model_script
from tiltyard_cli.commands.parse import parse
from tiltyard_cli.commands.plan import plan
from tiltyard_cli.commands.push import pull, push
from tiltyard_cli.commands.report import report
from tiltyard_cli.commands.rescore import rescore
from tiltyard_cli.commands.run import run
from tiltyard_cli.commands.status import status
from tiltyard_cli.commands.view import view
from tiltyard_cli.invocation import suggest
from tiltyard_cli.masked import masked_output
from tiltyard_specs.errors import InterruptedTrialError, TiltyardError
from tiltyard_specs.exit_codes import ExitCode

# Typer exports only this leaf of its error tree, and has moved the root before.
_CommandLineError: Any = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)

app = typer.Typer(
    name="tiltyard",
    help="Repeatable A/B trials of coding agents in throwaway containers.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_app_info = app.info
for _name, _command, _summary in (
    ("init", init, "Write a commented example spec."),
    ("check", check, "Say everything that is wrong with a spec."),
    ("doctor", doctor, "Say what this machine has for trials and lacks."),
    ("run", run, "Run a trial; started again, it goes on."),
    ("plan", plan, "Write down every run of a trial, for shards."),
    ("merge", merge, "Merge the results of a plan's shards."),
    ("status", status, "Show how far a result is."),
    ("report", report, "Print the report of a result."),
    ("rescore", rescore, "Score stored answers again by edited keys."),
    ("view", view, "Serve the report as pages on this machine."),
    ("fidelity", fidelity, "Show which models really answered."),
    ("push", push, "Copy a results folder to S3."),
    ("pull", pull, "Copy a result from S3 to a folder."),
    ("parse", parse, "Read what an agent printed."),
    ("model-script", model_script, "Serve scripted model answers."),
):
    # Of the command's own text the list would show a beginning, cut in a sentence.
    app.command(name=_name, short_help=_summary)(_command)
app.add_typer(cluster_app, name="cluster")
app.add_typer(images_app, name="images")
app.add_typer(images_app, name="image", hidden=True)
app.command(name="help", short_help="Explain exit-codes, or a command.")(help_command)


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
    _app_info.epilog = (
        f"Start with `{suggest('init', 'trial.yaml')}`, or `make demo` in a checkout. "
        f"Exit codes: `{suggest('help', 'exit-codes')}`."
    )
    with masked_output():
        code = _run(arguments)
    sys.exit(code)


def _clarify(error: Any) -> None:
    """Say which word was meant, and leave out what the parser says of itself."""
    message = str(getattr(error, "message", "")).removeprefix("Value error, ")
    choice = re.match(r"'([^']*)' is not one of ('[^']*'(?:, '[^']*')*)", message)
    if choice:
        from tiltyard_specs.nearest import nearest  # noqa: PLC0415

        meant = nearest(choice[1], re.findall(r"'([^']*)'", choice[2]))
        message += "".join(f" Did you mean '{word}'?" for word in meant)
    if message:
        error.message = message


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = app(args=None if arguments is None else list(arguments), standalone_mode=False)
        sys.stdout.flush()
    except _CommandLineError as error:
        _clarify(error)
        error.show()
        return int(ExitCode.USAGE)
    except SystemExit as leaving:
        if _reader_has_gone():
            # Typer's answer to that.
            return int(_said(BrokenPipeError(errno.EPIPE, str(leaving))))
        # Ray's answer to a SIGTERM, while it is connected.
        return int(_said(InterruptedTrialError("ended by a signal")))
    except Exception as error:  # noqa: BLE001  # the edge: nobody above could say anything better
        return int(_said(error))
    except KeyboardInterrupt:
        return int(_said(InterruptedTrialError("interrupted")))
    return result if isinstance(result, int) else int(ExitCode.OK)


def _reader_has_gone() -> bool:
    """Whether nobody reads standard output any more: a pipe to the engine may break as well."""
    poll = select.poll()
    poll.register(sys.stdout, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _said(error: Exception) -> ExitCode:
    """Tell the user in one sentence, and say which exit code that makes."""
    match error:
        case BrokenPipeError() if _reader_has_gone():
            # Whoever read our output has gone, as `head` does; Python would complain once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.OK
        case TiltyardError():
            sentence, code = str(error), error.exit_code
        case typer.Abort():
            sentence, code = "interrupted", ExitCode.INTERRUPTED
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            sentence, code = f"{where}{error.strerror or error}", ExitCode.UNAVAILABLE
        case _ if os.environ.get("TILTYARD_DEBUG"):
            # Never raised: what Python prints at the end of a process passes nobody who masks keys.
            traceback.print_exception(error)
            return ExitCode.UNAVAILABLE
        case _:
            what = f"{type(error).__name__}: {error}"
            sentence = f"internal error: {what}; TILTYARD_DEBUG=1 shows where. Please report it"
            code = ExitCode.UNAVAILABLE
    typer.echo(f"tiltyard: {sentence}", err=True)
    return code
