"""What is told beside a command's output while it works."""

import typer


def tell(text: str) -> None:
    """One line on standard error, such as that a store does not answer."""
    typer.echo(f"tiltyard: {text}", err=True)
