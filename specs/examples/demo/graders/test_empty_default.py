"""Appears only while the answer is verified: the same bug seen from other sides."""

import click
import pytest


def help_of(**attributes):
    option = click.Option(["--limit"], **attributes)
    return option.get_help_record(click.Context(click.Command("cli")))[1]


def test_an_empty_default_is_shown():
    assert help_of(default="", show_default=True) == '[default: ""]'


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"default": "x", "show_default": True}, "[default: x]"),
        ({"default": None, "show_default": True}, ""),
        ({"default": "", "show_default": False}, ""),
        ({"default": "", "show_default": "none"}, "[default: (none)]"),
    ],
)
def test_other_defaults_are_shown_as_before(attributes, text):
    assert help_of(**attributes) == text
