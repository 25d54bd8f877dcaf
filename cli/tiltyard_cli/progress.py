"""Shows a trial under way: a live panel on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from collections import Counter
from types import TracebackType
from typing import Protocol, Self, TextIO

from tiltyard_cli.counts import plural
from tiltyard_cli.masked import masked
from tiltyard_cluster import AttemptEnded, Event, Note, Planned, RunStarted, Spent
from tiltyard_cluster.words import one_line
from tiltyard_specs import Outcome, RunRecord

_LONGEST_REASON = 400


class Tally:
    """Counts what the events tell."""

    def __init__(self) -> None:
        self.total = 0
        self.done = 0
        self.running = 0
        self.spent = Spent()
        self._scripted = False
        self.outcomes: dict[str, Counter[str]] = {}
        self._here = 0
        self._began: float | None = None
        self._latest = 0.0

    def plan(self, event: Planned) -> None:
        """The trial is laid out, or its next part: grading comes in two."""
        self.total = self.done + event.total
        self.spent = event.spent
        self._scripted = event.scripted
        for record in event.done:
            self._settle(record)

    def start(self) -> None:
        """An attempt has begun. The first one starts the clock: images are built before it."""
        self.running += 1
        self._began = self._began or time.monotonic()

    def end(self, event: AttemptEnded) -> None:
        """An attempt has ended."""
        self.running = max(0, self.running - 1)
        self.spent = self.spent.plus(event.record)
        if event.final:
            self._here += 1
            self._latest = time.monotonic()
            self._settle(event.record)

    def _settle(self, record: RunRecord) -> None:
        self.done += 1
        self.outcomes.setdefault(record.arm, Counter())[record.outcome.value] += 1

    def line(self) -> str:
        """Done, running, left, spend and time left."""
        left = self.total - self.done - self.running
        parts = [
            f"{self.done}/{self.total} done",
            f"{self.running} running",
            f"{max(0, left)} left",
            self.spend(),
        ]
        remaining = self.seconds_left()
        if remaining is not None:
            parts.append(f"about {_duration(remaining)} to go")
        return ", ".join(parts)

    def spend(self) -> str:
        """What has been spent on this trial, by earlier starts as well."""
        return self.spent.words(scripted=self._scripted)

    def seconds_left(self) -> float | None:
        """From the pace up to the latest end; None before the first run has ended, and at the end."""
        if not self._here or self._began is None or self.done >= self.total:
            return None
        expected = (self._latest - self._began) / self._here * (self.total - self.done)
        return max(0.0, expected - (time.monotonic() - self._latest))

    def arms(self) -> list[str]:
        """Outcomes per arm, one line each."""
        return [
            f"{arm}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
            for arm, counts in sorted(self.outcomes.items())
        ]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(max(1, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Progress(Protocol):
    """Something that shows events; a context manager."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __call__(self, event: Event) -> None: ...  # noqa: D102


def _settled(event: AttemptEnded) -> str:
    record = event.record
    tokens = record.usage.total if record.usage else None
    parts = [f"{record.question} {record.arm} {record.agent} #{record.rep}: {record.outcome}"]
    parts += [f"{record.seconds:.1f} s"]
    parts += [f"{tokens:,} tokens"] if tokens is not None else []
    text = ", ".join(parts)
    if record.reason:
        text += f" ({one_line(record.reason, _LONGEST_REASON)})"
    # One that the user broke off is not tried again by this start.
    again = not event.final and record.outcome is Outcome.INFRA
    return text + "; tried again" if again else text


class PlainProgress:
    """One line for each thing that happens; safe to call from any thread."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self.tally = Tally()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, event: Event) -> None:
        """Print one event."""
        with self._lock:
            match event:
                case Note():
                    self._say(event.text)
                case Planned():
                    self.tally.plan(event)
                    self._say(f"{plural(event.total, 'run')}, {len(event.done)} of them done already")
                case RunStarted():
                    self.tally.start()
                case AttemptEnded():
                    self.tally.end(event)
                    if not event.told:
                        self._say(f"[{self.tally.line()}] {_settled(event)}")

    def _say(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


class LiveProgress:
    """Lines as in `PlainProgress`, above a panel that stays.

    Keys are masked before a line is wrapped: a key on two lines is not known as one.
    """

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  # only a terminal needs rich
        from rich.live import Live  # noqa: PLC0415

        self.tally = Tally()
        self._step = "preparing"
        self._lock = threading.Lock()
        self._console = Console(stderr=True, highlight=False)
        # Live asks for the panel at once.
        self._live = Live(
            console=self._console, get_renderable=self._panel, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def _panel(self) -> str:
        if not self.tally.total:
            return self._step
        return "\n".join([self.tally.line(), *("  " + line for line in self.tally.arms())])

    def __call__(self, event: Event) -> None:
        """Show one event."""
        with self._lock:
            match event:
                case Note():
                    self._step = masked(event.text)
                    self._console.print(self._step, markup=False)
                case Planned():
                    self.tally.plan(event)
                case RunStarted():
                    self.tally.start()
                case AttemptEnded():
                    self.tally.end(event)
                    if not event.told:
                        self._console.print(masked(_settled(event)), markup=False)


def progress() -> LiveProgress | PlainProgress:
    """What fits where standard error goes."""
    return LiveProgress() if sys.stderr.isatty() else PlainProgress(sys.stderr)
