"""Progress of long compiles: a bar of tqdm where that is installed, or a callback."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Union

from .errors import UsageError

Callback = Callable[[int, int], Any]
Progress = Union[bool, Callback, None]

SECONDS_BEFORE_A_BAR = 1.0


@contextlib.contextmanager
def reporter(progress: Progress, title: str) -> Iterator[Callback | None]:
    """What is to be called with (done, total). None: a bar after a second, on a terminal or in a notebook, where tqdm
    is installed; True: a bar in any case; False: nothing."""
    if progress is False:
        yield None
        return
    if progress is not None and progress is not True:
        if not callable(progress):
            raise UsageError("progress is True, False, None or a function of (done, total)")
        yield progress
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        if progress:
            raise UsageError("progress=True needs the package tqdm") from None
        yield None
        return
    bar = tqdm(
        desc=title,
        unit="shader",
        leave=False,
        delay=0 if progress else SECONDS_BEFORE_A_BAR,
        disable=False if progress else None,
    )

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        bar.close()
