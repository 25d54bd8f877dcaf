"""The count of values is right wherever a text is cut into pieces."""

import json
import random

from tiltyard_gateway.values import ValueCounter, pieces


def counted(text: bytes, *cuts: int) -> int:
    counter = ValueCounter()
    for start, end in zip((0, *cuts), (*cuts, len(text)), strict=True):
        counter.feed(text[start:end])
    return counter.values


def test_text_in_strings_is_no_value() -> None:
    assert counted(b'{"a": ["[{,", 1, {"b\\"[,": "\\\\"}, ",,"]}') == 6


def test_every_cut_gives_the_same() -> None:
    text = json.dumps({'a"\\': ['\\"[', "\\", "\\\\", 'x,"{', {"é,\\": [1, 2]}], "b": ""}).encode()
    whole = counted(text)

    assert whole == 10
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            assert counted(text, first, second) == whole


def test_no_value_is_left_out() -> None:
    """Against what a parser finds, over random texts."""
    draw = random.Random(7)  # noqa: S311 - repeatable on purpose
    for _ in range(200):
        value = [made(draw, 0) for _ in range(5)]
        text = json.dumps(value).encode()
        assert counted(text, len(text) // 2) >= values_in(value) - 1


def made(draw: random.Random, depth: int) -> object:
    kind = draw.randrange(4 if depth < 4 else 2)
    if kind == 0:
        return draw.randrange(1000)
    if kind == 1:
        return "".join(draw.choices('\\",[]{}é\n', k=draw.randrange(6)))
    size = draw.randrange(4)
    if kind == 2:
        return [made(draw, depth + 1) for _ in range(size)]
    return {f'{n}"\\,': made(draw, depth + 1) for n in range(size)}


def values_in(value: object) -> int:
    held = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return 1 + sum(map(values_in, held))


def test_pieces_are_all_of_it() -> None:
    data = bytes(range(256)) * 3000

    assert b"".join(pieces(data)) == data
    assert max(map(len, pieces(data))) == 256 * 1024
    assert list(pieces(b"")) == []
