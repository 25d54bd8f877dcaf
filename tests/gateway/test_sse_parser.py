"""The parser sees chunks cut anywhere and must yield the same events."""

import pytest

from tiltyard_gateway.sse import Event, SseParser

TEXT = (
    b': a comment\n\nevent: one\ndata: {"a": 1}\n\n'
    b"event: two\r\ndata: first\r\ndata: second\r\n\r\n"
    b"data:no space\n\nevent: empty\n\nevent: \xc3\xa4\ndata: \xc3\xa4\n\n"
    b"event: unfinished\ndata: x\n"
)
EVENTS = [
    Event("one", b'{"a": 1}'),
    Event("two", b"first\nsecond"),
    Event("", b"no space"),
    Event("ä", "ä".encode()),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(TEXT)])
def test_events_do_not_depend_on_where_chunks_are_cut(size: int) -> None:
    parser = SseParser()
    chunks = [TEXT[start : start + size] for start in range(0, len(TEXT), size)]

    assert [event for chunk in chunks for event in parser.feed(chunk)] == EVENTS


def test_an_oversized_event_is_dropped_and_the_next_one_is_read() -> None:
    parser = SseParser(max_event=100)
    flood = [b"data: ", *[b"x" * 50] * 10, b"\n\n"]

    assert not [event for chunk in flood for event in parser.feed(chunk)] or parser.overflowed
    assert list(parser.feed(b"event: end\ndata: 1\n\n"))[-1] == Event("end", b"1")
    assert parser.overflowed


def test_memory_stays_bounded_without_a_line_end() -> None:
    parser = SseParser(max_event=1000)
    for _ in range(100):
        list(parser.feed(b"y" * 500))

    assert len(parser._buffer) <= 1500
