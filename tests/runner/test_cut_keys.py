"""A bound cuts no key in two: half a key would be known as one no more."""

import base64
import html
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from tiltyard_runner.agents import ToolCall
from tiltyard_runner.agents.outcome import MAX_MESSAGE, error
from tiltyard_runner.agents.streams import TAIL_BYTES, tail
from tiltyard_runner.cutting import beginning, ending
from tiltyard_runner.masking import Masking
from tiltyard_runner.output import OutputFiles
from tiltyard_runner.recorded_calls import MAX_INPUT, recorded_calls
from tiltyard_runner.redaction import mask_calls, mask_files, redact_attempt
from tiltyard_specs.calls import Call
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RunRecord
from tiltyard_specs.redact import MASK, Redactor

CUSTOM = 'my own/key <"7">\\ü and+more'
# In two parts, so that no scanner takes it for a key.
SHAPED = "AI" + "zaSyA1234567890abcdefghijklmnopqrstu"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7\n" * 90 + "-----END RSA PRIVATE KEY-----"


@pytest.mark.slow
@pytest.mark.parametrize("key", [CUSTOM, SHAPED, PEM], ids=["custom", "shaped", "pem"])
@pytest.mark.parametrize("cut", [beginning, ending])
def test_a_cut_moves_before_or_behind_a_key(cut: Callable[..., str], key: str) -> None:
    """Wherever it falls: what is left holds the whole key or nothing of it, and is not too short."""
    mask = Masking([CUSTOM]).text
    filling = "word " * 1000
    for inside in range(0, len(key) + 1, max(1, len(key) // 40)):
        text = f"{filling}{key}{filling}"
        longest = len(filling) + (inside if cut is beginning else len(key) - inside)
        left = cut(text, longest, mask)
        assert len(left) <= longest
        assert len(left) > 1000
        rest = mask(left)[0].replace("word", "").replace(MASK, "").strip()
        assert rest in {"", "w", "wo", "wor", "d", "rd", "ord"}, rest


def test_a_short_text_stays_whole() -> None:
    assert beginning(SHAPED, 100, Masking(()).text) == ending(SHAPED, 100, Masking(()).text) == SHAPED


@pytest.mark.parametrize("key", [CUSTOM, SHAPED])
@pytest.mark.parametrize("shift", [1, 7, 20])
def test_a_long_tool_input_keeps_no_half_key(key: str, shift: int) -> None:
    (call,) = recorded_calls(
        [ToolCall("Write", "x " * ((MAX_INPUT - shift) // 2) + key + " x" * 99)], [CUSTOM]
    )

    assert str(call.input).endswith(" characters]")
    assert key[:6] not in Masking([CUSTOM]).text(str(call.input))[0]


@pytest.mark.parametrize("both", [False, True])
def test_output_beyond_its_bound_leaves_no_half_word(tmp_path: Path, both: bool) -> None:
    """In neither stream, whichever reached the bound; what was taken off counts as dropped."""
    with OutputFiles(tmp_path / "out", tmp_path / "err", 60) as files:
        files.write(b"some words and ", b"an error " if both else None)
        files.write(SHAPED[:20].encode(), SHAPED[:10].encode() if both else None)
        files.write(SHAPED[20:].encode(), SHAPED[10:].encode())
    out, err = (tmp_path / "out").read_bytes(), (tmp_path / "err").read_bytes()
    assert SHAPED[:6].encode() not in out.replace(SHAPED.encode(), b"") + err
    assert out.startswith(b"some words and ")
    assert len(out) + len(err) + files.dropped == 15 + len(SHAPED) * 2 - 10 * (not both) + 9 * both


def test_sentences_that_quote_a_part_of_a_key(tmp_path: Path) -> None:
    """As error messages do that cut what they quote."""
    record = RunRecord(
        run_id="r",
        trial="t",
        question="q",
        arm="a",
        agent="g",
        rep=1,
        attempt=1,
        node="n",
        seconds=1.0,
        started_at="2024-01-01T00:00:00.000Z",
        outcome=Outcome.INFRA,
        reason=f"refused: {CUSTOM[:14]}...",
        warnings=(f"...{CUSTOM[9:]} was there",),
    )
    masked = redact_attempt(record, tmp_path, [CUSTOM])

    assert masked.reason == f"refused: {MASK}..."
    assert masked.warnings[0] == f"...{MASK} was there"
    assert Redactor([CUSTOM]).sentence("my own bed, and more") == "my own bed, and more"


@pytest.mark.parametrize("around", [("", ""), ("u:", "@h"), ("user:", "\n"), ("ab", "xyz")])
def test_every_form_of_a_key_is_masked(around: tuple[str, str]) -> None:
    """In text and in bytes, after the quick look as well."""
    whole = around[0] + CUSTOM + around[1]
    for form in (
        json.dumps(whole),
        json.dumps(json.dumps(whole)),
        repr(whole),
        html.escape(whole),
        quote(whole, safe=""),
        quote(whole),
        quote_plus(whole),
        base64.b64encode(whole.encode()).decode(),
        base64.urlsafe_b64encode(whole.encode()).decode(),
        whole.encode().hex(),
    ):
        text = f"x {form} y"
        assert MASK in Redactor([CUSTOM]).text(text), form
        assert Masking([CUSTOM]).text(text) == (Redactor([CUSTOM]).text(text), 1)
        assert Masking([CUSTOM]).data(text.encode()) == (Redactor([CUSTOM]).data(text.encode()), 1)


def test_the_list_of_calls_is_masked_and_stays_readable(tmp_path: Path) -> None:
    """A key of digits alone would make a number unreadable."""
    numbers = "987654"
    call = Call(
        index=1,
        started_at="2024-01-01T00:00:00Z",
        wire="gemini",
        method="POST",
        path="/v1",
        role=f"m {SHAPED}",
        model=CUSTOM,
        asked=CUSTOM,
        stream=False,
        status=200,
        outcome="ok",
        usage=None,
        cost_usd=None,
        seconds=1.5,
        first_byte_seconds=None,
        tools=(SHAPED,),
        sent_bytes=1987654,
        message=f"no {numbers}",
    )
    path = tmp_path / "calls.jsonl"
    clean = call.model_copy(update={"role": "m", "model": "m", "asked": "m", "tools": (), "message": "ü"})
    cut = f'{{"index": 3, "role": "{SHAPED}'
    path.write_text(f"{clean.model_dump_json()}\n{call.model_dump_json()}\n{cut}", encoding="utf-8")

    assert mask_calls(path, Masking([CUSTOM, numbers])) == 6
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == clean.model_dump_json()
    masked = Call.model_validate_json(lines[1])
    assert masked.sent_bytes == 1987654
    assert (masked.role, masked.model, masked.asked) == (f"m {MASK}", MASK, MASK)
    assert (masked.tools, masked.message) == ((MASK,), f"no {MASK}")
    assert lines[2] == f'{{"index": 3, "role": "{MASK}'
    assert mask_calls(path, Masking([CUSTOM, numbers])) == 0


def test_what_is_quoted_of_an_agent_begins_and_ends_with_whole_words(tmp_path: Path) -> None:
    """Its error messages, the end of its standard error, and the end of a long answer."""
    path = tmp_path / "raw.err"
    for shift in range(1, len(SHAPED), 5):
        path.write_text(f"{SHAPED} {'z ' * ((TAIL_BYTES - shift) // 2)}")
        assert SHAPED[-4:] not in tail(path).replace(SHAPED, "")
        message = error("crash", f"{'y ' * ((MAX_MESSAGE - 3 - shift) // 2)}{SHAPED} and so on").message
        assert SHAPED[:4] not in message.replace(SHAPED, "")
        assert MAX_MESSAGE - 2 * len(SHAPED) < len(message) <= MAX_MESSAGE


def test_an_attempt_that_comes_to_no_record_leaves_no_key(tmp_path: Path) -> None:
    for name in ("raw.out", "calls.jsonl", "patch.diff"):
        (tmp_path / name).write_text(f"x {CUSTOM} y\n", encoding="utf-8")
    mask_files(tmp_path, [CUSTOM])

    assert {path.read_text() for path in tmp_path.iterdir()} == {f"x {MASK} y\n"}
