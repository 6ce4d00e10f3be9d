"""Who does the work: this process, a pool of processes, or a Dask cluster.

In: a function and the pieces of a corpus. Out: its results, in the order of the pieces. Laws: an
engine is any `concurrent.futures.Executor`, and no result depends on which; a bounded number of
pieces is under way, so a slow engine slows the reading. (SPEC CP-EXIT)
"""

import importlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from attrs import frozen

from verdict_core.errors import EngineFailed

P = ParamSpec("P")
T = TypeVar("T")
Tag = TypeVar("Tag")

CONNECT_SECONDS = 10.0
GRACE_SECONDS = 1.0
_GONE: tuple[type[Exception], ...] = (BrokenExecutor, CancelledError)


class InProcess(Executor):
    """Does each piece of work where it is submitted, before `submit` returns."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # a future keeps it for whoever asks, as a pool's does
            future.set_exception(error)
        return future


@frozen
class Engine:
    """`executor` does the work, `at_once` pieces at most are under way, and an exception of
    `gone` says that a worker was lost for good."""

    executor: Executor
    at_once: int = 1
    gone: tuple[type[Exception], ...] = ()

    def in_order(
        self, work: Callable[[bytes], T], pieces: Iterable[tuple[Tag, bytes]]
    ) -> Generator[tuple[Tag, bytes, T]]:
        """Each tagged piece with what `work` made of it, in the order of the pieces.

        Raises what `work` raises, and EngineFailed. (SPEC CP-EXIT-4)
        """
        waiting: deque[tuple[Tag, bytes, Future[T]]] = deque()
        try:
            for tag, piece in pieces:
                waiting.append((tag, piece, self._submitted(work, piece)))
                if len(waiting) >= self.at_once:
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        finally:
            for _, _, future in waiting:
                future.cancel()

    def _submitted(self, work: Callable[[bytes], T], piece: bytes) -> Future[T]:
        try:
            return self.executor.submit(_interruptible, work, piece)
        except BrokenExecutor as error:
            raise _failed(error) from None

    def _next(self, waiting: "deque[tuple[Tag, bytes, Future[T]]]") -> tuple[Tag, bytes, T]:
        tag, piece, future = waiting.popleft()
        try:
            return tag, piece, future.result()
        except _GONE + self.gone as error:
            raise _failed(error) from None


def _failed(error: BaseException) -> EngineFailed:
    said = str(error) or type(error).__name__
    return EngineFailed(f"a worker went away and its work could not be done again: {said}")


@contextmanager
def in_process() -> Iterator[Engine]:
    """The engine that needs nothing: one piece after the other, here."""
    yield Engine(InProcess())


@contextmanager
def processes(jobs: int) -> Iterator[Engine]:
    """A pool of `jobs` processes, each a fresh interpreter that loads the caller's main module, so
    that one needs its `if __name__ == "__main__"`. When the block is left by an error or Ctrl-C,
    what they are doing is interrupted: nothing of it can count any more. (SPEC CP-EXIT-5)"""
    # Not forked: a fork would copy whatever threads and locks the caller has.
    context = multiprocessing.get_context("spawn")
    with _Pool(jobs, mp_context=context, initializer=_start) as pool:
        try:
            yield Engine(pool, at_once=2 * jobs)
        except BaseException:  # Ctrl-C, too, ends the workers
            _interrupt_workers()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def cluster(address: str, at_once: int | None) -> Iterator[Engine]:
    """The Dask cluster whose scheduler is at `address`; its workers need this package.

    `at_once` bounds the pieces under way; None is four for each of the cluster's threads. A worker
    that dies has its pieces done again elsewhere, by Dask. Raises EngineFailed. (SPEC CP-EXIT-4)
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise EngineFailed(
            "a cluster needs the extra: pip install 'verdict-core[cluster]'",
            path=address,
            code="no_cluster",
        ) from None
    # What it logs of a scheduler that went away is a traceback; EngineFailed says the same.
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with _connected(distributed, address) as client:
            threads = sum(client.nthreads().values())
            executor = client.get_executor(pure=False)
            yield Engine(executor, at_once or 4 * max(threads, 1), (distributed.KilledWorker,))
    finally:
        log.setLevel(level)


def _connected(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise EngineFailed(
            f"no Dask scheduler answers: {error}", path=address, code="no_cluster"
        ) from None


# --- in a worker of the pool. Ctrl-C reaches it too, as it reaches every process of the terminal's
# group: what it is doing has to stop, so that whoever it is asking is let go, and nothing more may
# begin. It never ends a worker that waits, or that is still starting: that would print a traceback.

_working = False
_stopped = False


class _Pool(ProcessPoolExecutor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        # Workers are started here, and inherit the mask; `_start` takes it off again.
        old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _start() -> None:
    signal.signal(signal.SIGINT, _interrupted)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(
        target=_end_with, args=(multiprocessing.parent_process(),), daemon=True
    ).start()


def _end_with(owner: BaseProcess | None) -> None:
    """A worker whose owner was killed would wait for work for ever: it ends with it."""
    if owner is not None:
        owner.join()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(GRACE_SECONDS)
        os._exit(1)


def _interrupted(signum: int, frame: FrameType | None) -> None:
    global _stopped
    _stopped = True
    if _working:
        raise KeyboardInterrupt


def _interruptible(work: Callable[[bytes], T], piece: bytes) -> T:
    global _working
    if _stopped:
        raise KeyboardInterrupt
    _working = True
    try:
        return work(piece)
    finally:
        _working = False


def _interrupt_workers() -> None:
    for child in multiprocessing.active_children():
        if child.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGINT)
