"""Readers of row files and of other tools' files."""
