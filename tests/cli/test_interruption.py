"""Commands that get SIGINT or SIGTERM at random moments end soon, with their exit code, and leave nothing half done."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from invariance._core.files import UNFINISHED
from invariance.cli import main
from invariance.cli.interruption import interruptible
from invariance.models import describe

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells who catches signals")

PATIENCE = 60.0  # seconds; a loaded machine takes several to import the libraries
ENDS = {signal.SIGINT: (130, "Interrupted: "), signal.SIGTERM: (143, "Terminated: ")}

# command -> (arguments, signal, seconds of work before which it is sent)
VICTIMS = {
    "segment 1": (["segment", "p.inv", "sections", "-o", "out"], signal.SIGINT, 1.0),
    "segment 2": (["segment", "p.inv", "sections", "-o", "out"], signal.SIGINT, 4.0),
    "segment 3": (["segment", "p.inv", "sections", "-o", "out"], signal.SIGTERM, 4.0),
    "fit": (["fit", "photos", "-o", "x.inv", "--budget", "60"], signal.SIGINT, 4.0),
    "fit-pixels": (["fit-pixels", "sections", "masks", "-o", "x.inv"], signal.SIGTERM, 4.0),
    "predict": (["predict", "m.inv", "photos", "-o", "x.csv"], signal.SIGINT, 2.0),
    "evaluate": (["evaluate", "m.inv", "photos"], signal.SIGTERM, 2.0),
    "evaluate-pixels": (["evaluate-pixels", "p.inv", "sections", "masks"], signal.SIGINT, 4.0),
    "compare": (["compare", "photos"], signal.SIGINT, 4.0),
    "advise-pixels": (["advise-pixels", "sections", "masks", "-o", "x.html"], signal.SIGINT, 4.0),
    "advise": (["advise", "photos", "-o", "x.html"], signal.SIGTERM, 4.0),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two models, and more images than any command gets through in seconds."""
    world = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (150, 150)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    for name, values in {"sections": 200 * cells, "masks": cells}.items():
        for i in range(8):
            save(world / name / f"{i}.png", values)
    save(world / "small.png", 200 * cells[:64, :64])
    save(world / "labels.png", cells[:64, :64])
    for kind in ("level", "upright"):
        for number in range(60):
            noise = rng.integers(0, 256, (160, 1) if kind == "level" else (160, 160), dtype=np.uint8)
            save(world / "photos" / kind / f"{number}.png", np.broadcast_to(noise, (160, 160)))
        for number in range(3):
            (world / "few" / kind).mkdir(parents=True, exist_ok=True)
            shutil.copy(world / "photos" / kind / f"{number}.png", world / "few" / kind)
    arguments = ["fit-pixels", str(world / "small.png"), str(world / "labels.png"), "-o", str(world / "p.inv")]
    assert main([*arguments, "--pixels", "300", "--rounds", "1", "--patch-size", "31"]) == 0
    assert main(["fit", str(world / "few"), "-o", str(world / "m.inv"), "--method", "codebook"]) == 0
    return world


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.ascontiguousarray(pixels)).save(path)


def start(arguments: list[str], folder: Path) -> subprocess.Popen:
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until_it_catches(process: subprocess.Popen, number: int) -> None:
    """Return as soon as the process has a handler of its own for a signal; Python has one for SIGINT from the start."""
    given_up = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < given_up:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
        if int(status["SigCgt"], 16) >> (number - 1) & 1:
            return
        time.sleep(0.01)
    pytest.fail(f"it never caught {number}: {process.communicate(timeout=1)}")


@pytest.mark.parametrize("name", VICTIMS)
def test_a_command_ends_soon_with_its_code_one_line_and_nothing_unfinished(name, world):
    arguments, number, seconds = VICTIMS[name]
    before = {path for path in world.rglob("*") if path.is_file()}
    process = start(["-m", "invariance", *arguments, "--jobs", "2"], world)
    wait_until_it_catches(process, signal.SIGTERM)
    time.sleep(np.random.default_rng(sorted(VICTIMS).index(name)).uniform(0, seconds))
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    code, word = ENDS[number]
    assert process.returncode == code, (out, err)
    assert out.count("\n") <= len(list(world.glob("out/*")))
    assert err.startswith(word)
    assert err.count("\n") == 1
    written = {path for path in world.rglob("*") if path.is_file()} - before
    assert not [path for path in written if UNFINISHED in path.name]
    for path in written:  # by segment and fit, which keep what is complete
        assert describe(path) if path.suffix == ".inv" else Image.open(path).size == (1200, 1200)
        path.unlink()


def run(program: str, folder: Path, number: int | None = None) -> subprocess.Popen:
    """Run a program in which `invariance datasets` calls `work`; send it a signal as soon as it prints."""
    prepared = """
        import signal, threading, time
        import invariance.cli.interruption, invariance.datasets
        from invariance.__main__ import main
        invariance.cli.interruption.PATIENCE_SECONDS = 0.3
        """
    end = """
        invariance.datasets.list_datasets = work
        main()
        """
    process = start(["-c", "".join(map(textwrap.dedent, (prepared, program, end))), "datasets"], folder)
    if number is not None:
        assert process.stdout.readline() == "working\n"
        process.send_signal(number)
    return process


def ended(process: subprocess.Popen) -> tuple[int, str]:
    _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, err


@pytest.mark.parametrize("number", ENDS)
def test_work_that_does_not_notice_the_signal_is_ended_as_well(number, tmp_path):
    program = """
    def work():
        print("working", flush=True)
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass
    """
    code, word = ENDS[number]
    assert ended(run(program, tmp_path, number)) == (code, f"{word}nothing was written.\n")


@pytest.mark.parametrize("error", ["ImportError", "ValueError", "OSError"])
def test_an_error_that_the_signal_became_is_no_error(error, tmp_path):
    program = f"""
    def work():
        print("working", flush=True)
        try:
            time.sleep(60)
        except BaseException:
            raise {error}("initialization failed")  # as compiled modules do that are being imported
    """
    assert ended(run(program, tmp_path, signal.SIGINT)) == (130, "Interrupted: nothing was written.\n")


def test_a_signal_that_the_interpreter_ignores_is_not_forgotten(tmp_path):
    program = """
    class Finalized:
        def __del__(self):
            print("working", flush=True)
            time.sleep(60)
    def work():
        Finalized()
        time.sleep(60)
    """
    assert ended(run(program, tmp_path, signal.SIGTERM)) == (143, "Terminated: nothing was written.\n")


def test_threads_that_do_not_end_do_not_keep_the_process(tmp_path):
    program = """
    def work():
        threading.Thread(target=time.sleep, args=(600,)).start()
        print("working", flush=True)
        time.sleep(60)
    """
    assert ended(run(program, tmp_path, signal.SIGINT)) == (130, "Interrupted: nothing was written.\n")


def test_a_signal_that_the_caller_ignores_stays_ignored(tmp_path):
    program = """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    def work():
        print("working", flush=True)
        time.sleep(1)
        return []
    """
    assert ended(run(program, tmp_path, signal.SIGINT)) == (0, "")


def test_python_m_is_the_same_command(tmp_path):
    def answers(arguments):
        process = start([*arguments, "predict", "none.inv", "none.png"], tmp_path)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    module = answers(["-m", "invariance"])
    assert module == answers(["-c", "import sys; from invariance.cli import main; sys.exit(main())"])
    assert module[0] == 2
    assert os.listdir(tmp_path) == []


def test_a_signal_while_a_command_ends_changes_nothing(monkeypatch):
    join = threading.Thread.join

    def join_late(self, timeout=None):
        os.kill(os.getpid(), signal.SIGINT)
        return join(self, timeout)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(threading.Thread, "join", join_late)
        with interruptible(lambda: "nothing") as interruption:
            pass
        assert not interruption.is_asked
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
