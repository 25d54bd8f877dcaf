"""`tiltyard images`: the layers that runs are made of."""

import typer

images_app = typer.Typer(help="List, build and remove Tiltyard's own images.", no_args_is_help=True)
