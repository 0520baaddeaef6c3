"""Where a command computes: in this process, on processes of this machine, or on the workers of a Dask scheduler."""

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance._core.extras import command_for
from invariance.cli.console import LINE_SECONDS, say_aside, say_in_place

if TYPE_CHECKING:
    from invariance._core.running import Progress

NEEDED = ("dask", "distributed", "cryptography")
SECONDS_TO_CONNECT = 10.0
SECONDS_FOR_DASHBOARD = 2.0
KILL_SECONDS = 0.05  # between two looks for workers to end after an interruption

WorkersOption = Annotated[
    int, typer.Option(min=1, max=1024, help="Processes of this machine that share the work, one thread each.")
]
SchedulerOption = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler whose workers see the same files.")
]
ImagesSchedulerOption = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler whose workers share the work; images are sent to them.")
]


def check_installed(names: Sequence[str], what: str) -> None:
    """Refuse work without the packages that it takes."""
    from importlib.util import find_spec

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise ValueError(f"{what} need {' and '.join(missing)}. Try: {command_for('volumes')}.")


@contextmanager
def open_client(workers: int, scheduler: str | None, max_bytes: int | None = None) -> Iterator[Any]:
    """Connect to a scheduler, or start workers on this machine; None if one process does the work.

    Parameters
    ----------
    workers : int
    scheduler : str or None
    max_bytes : int or None, default=None
        Memory of each worker of this machine; None shares all of it.
    """
    if scheduler is None and workers == 1:
        yield None
        return
    if scheduler is not None and workers != 1:
        raise ValueError(
            f"--workers starts processes on this machine, --scheduler uses those of a cluster; got {workers} and "
            f"'{scheduler}'. Omit one of them."
        )
    check_installed(NEEDED, "workers")
    from logging import CRITICAL

    import dask
    from distributed import Client, LocalCluster

    if scheduler is not None:
        _check_address(scheduler)
        try:
            # Not the default of this process, which would stay so after a scheduler that does not answer.
            client = Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except OSError as error:
            raise ConnectionError(
                f"the Dask scheduler '{scheduler}' does not answer. Start it, or check the address."
            ) from error
        with client:
            if _answers(client.dashboard_link):
                say_aside(f"Dask dashboard: {client.dashboard_link}")
            yield client
        return
    # Workers are ended in the middle of their heartbeats: what they say of it helps nobody. Even without a dashboard,
    # Dask serves logs and names of tasks by HTTP to all users of this machine, unless there are no routes to them.
    settings = {
        "logging": {"distributed": "critical", "tornado": "critical"},
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.deploy.lost-worker-timeout": "60s",  # a loaded machine takes long to start one again
        # What Dask measures of itself, for a dashboard that is not there, takes a twentieth of a worker's time.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "200ms",
        "distributed.admin.system-monitor.interval": "5s",
        # With Dask's value, every large array of a block is given back to the system and its pages are cleared again.
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    }
    is_closed = threading.Event()
    try:
        # Encrypted, with keys that no other user of this machine can read: who reaches a scheduler can run anything.
        with (
            dask.config.set(settings),
            LocalCluster(
                n_workers=0,  # started below, where an interruption ends them
                threads_per_worker=1,
                memory_limit="auto" if max_bytes is None else max_bytes,
                security=True,
                dashboard_address=None,
                silence_logs=CRITICAL,
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            try:
                cluster.scale(workers)
                yield client
            except BaseException:
                threading.Thread(target=_kill_workers, args=(cluster, is_closed), daemon=True).start()
                raise
    finally:
        is_closed.set()


def _check_address(scheduler: str) -> None:
    """Refuse the address of a dashboard, and of an encrypted scheduler if Dask knows no certificates for it.

    Its own errors are long tracebacks.
    """
    from distributed.security import Security

    if scheduler.startswith(("http://", "https://")):
        raise ValueError(
            f"'{scheduler}' is the address of a dashboard. Give that of the Dask scheduler, such as tcp://host:8786; "
            f"`dask scheduler` prints it as 'Scheduler at'."
        )
    if not scheduler.startswith("tls://"):
        return
    try:
        has_certificates = Security().get_connection_args("client").get("ssl_context") is not None
    except OSError as error:
        raise ValueError(
            f"the certificates for the Dask scheduler '{scheduler}' cannot be read: {error}. Correct their paths under "
            f"distributed.comm.tls in Dask's configuration."
        ) from None
    if not has_certificates:
        raise ValueError(
            f"the Dask scheduler '{scheduler}' needs certificates. Name them under distributed.comm.tls in Dask's "
            f"configuration, or give the scheduler's tcp:// address."
        )


def _answers(dashboard: str | None) -> bool:
    """Whether a dashboard is there: a scheduler without bokeh has a page in its place, but none of its figures."""
    from http.client import HTTPException
    from urllib.request import urlopen

    if not dashboard or not dashboard.startswith(("http://", "https://")):
        return False
    address = dashboard.removesuffix("status") + "individual-plots.json"
    try:
        with urlopen(address, timeout=SECONDS_FOR_DASHBOARD) as answer:
            return bool(json.load(answer))
    except (OSError, ValueError, HTTPException):
        return False


def _kill_workers(cluster: Any, is_closed: threading.Event) -> None:
    """End workers at once, which would first start or finish their blocks, until their cluster is closed.

    What they write is whole or not there.
    """
    from multiprocessing import active_children  # slow to import, and most commands need no workers

    while not is_closed.wait(KILL_SECONDS):
        for nanny in list(cluster.workers.values()):
            nanny.auto_restart = False
        for child in active_children():
            child.kill()


class ProgressLine:
    """Shows how far a job is and how long it will take, in one line that is written anew on a terminal."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, progress: "Progress") -> None:
        """Show a progress, unless the last one was shown a moment ago."""
        now = time.monotonic()
        if now - self._last < LINE_SECONDS[0 if self._is_terminal else 1]:
            return
        self._last = now
        n_done = progress.n_before + progress.n_finished
        left = progress.seconds / max(1, progress.n_finished) * (progress.n_blocks - n_done)
        line = f"{progress.stage}: {n_done} of {progress.n_blocks} blocks, about {in_words(left)} left"
        (say_in_place if self._is_terminal else say_aside)(line)


def in_words(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
