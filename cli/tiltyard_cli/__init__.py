"""The front door: the `tiltyard` command."""
