"""When a helper process ends: by a signal, or when its parent's end of stdin closes.

The latter is what makes it certain: a parent killed with SIGKILL closes its pipes all the same.
"""

import asyncio
import os
import signal
import threading


def stop_signal(*signals: signal.Signals, until_stdin_closes: bool) -> asyncio.Event:
    """An event that is set when this process should end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    if until_stdin_closes:
        threading.Thread(target=_watch_stdin, args=(loop, stop), daemon=True).start()
    return stop


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(stop.set)
