"""The future of a run that is under way."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

from . import _native


class Future:
    """A run that was submitted. `result` waits for it; ``await`` does in a coroutine. Thread-safe."""

    def __init__(self, context: _native.Context, finish: Callable[[], Any], give_back: Callable[[], None]) -> None:
        self._context = context
        self._finish = finish
        self._give_back: Callable[[], None] | None = give_back
        self._lock = threading.RLock()
        self._collected = False
        self._result: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether the run is over. Does not wait."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for so many seconds at most (None: as long as it takes), and says whether the run is over. Signals,
        such as that of Ctrl-C, end the wait; the run goes on."""
        begun = time.monotonic()
        if not self._lock.acquire(timeout=-1 if timeout is None else max(timeout, 0)):
            return self._collected  # another thread waits for it
        try:
            if self._collected:
                return True
            left = None if timeout is None else timeout - (time.monotonic() - begun)
            try:
                if not self._context.wait(left):
                    return False
                self._result = self._finish()
            except Exception as error:
                self._error = error
            self._collected = True
            self._release()
            return True
        finally:
            self._lock.release()

    def result(self, timeout: float | None = None) -> Any:
        """The run's outputs, as the call of the network gives them.

        Raises:
            TimeoutError: it took more than `timeout` seconds; the run goes on.
            Error: the run failed.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"the run was not over after {timeout} seconds")
        if self._error is not None:
            raise self._error
        return self._result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What `result` would raise because the run failed, or None."""
        if not self.wait(timeout):
            raise TimeoutError(f"the run was not over after {timeout} seconds")
        return self._error

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait_in_loop().__await__()

    async def _wait_in_loop(self) -> Any:
        loop = asyncio.get_running_loop()
        if not self.done():
            ended = loop.create_future()

            def tell() -> None:
                if not ended.done():
                    ended.set_result(None)

            def wake() -> None:  # called by a thread of the library
                try:
                    loop.call_soon_threadsafe(tell)
                except RuntimeError:
                    pass  # the loop was closed, nobody waits any more

            if self._context.wake(wake):
                await ended
        return self.result()

    def _release(self) -> None:
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()

    def __del__(self) -> None:
        if getattr(self, "_give_back", None) is not None:  # nobody asked: whoever gets the context waits for the run
            self._release()
