"""What the scripts that test `stoker` from outside share: running it, TAP, reading what it wrote.

A script registers its cases with @case("name") and ends with main(), which runs them, or those whose name contains
one of the command line's words, and prints TAP. A case fails by raising (assert, or the check functions below) and
is skipped by raising Skip("why"). The program under test is $STOKER, else trainer/stoker of an in-tree build.
"""

import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent
STOKER = os.environ.get("STOKER") or str(SOURCE / "trainer" / "stoker")

EXIT_DONE, EXIT_SYSTEM, EXIT_USER, EXIT_STOPPED = 0, 1, 2, 75

_cases = []


class Skip(Exception):
    """Raised by a case that cannot run here; says why."""


def case(name):
    """Decorator: registers a function, with a TemporaryDirectory's path as its one argument, as a case."""

    def register(function):
        _cases.append((name, function))
        return function

    return register


def add_case(name, function):
    """Registers a case made in a loop."""
    _cases.append((name, function))


def main():
    """Runs the registered cases and prints TAP; ends the process with 1 if any failed."""
    words = sys.argv[1:]
    chosen = [(name, function) for name, function in _cases if not words or any(word in name for word in words)]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as folder:
            try:
                function(Path(folder))
                print(f"ok {number} - {name}", flush=True)
            except Skip as reason:
                print(f"ok {number} - {name} # SKIP {reason}", flush=True)
            except Exception:  # a case may fail in any way; the others still run
                failed += 1
                print(f"not ok {number} - {name}")
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    sys.exit(1 if failed else 0)


def session_folder():
    """A new folder that exists until the script ends, for what several cases share."""
    folder = Path(tempfile.mkdtemp(prefix="stoker-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment(**more):
    """The environment of a run: none of the variables that a launcher around the tests may have set."""
    launcher = re.compile(r"^(OMPI_|PMIX_|PMI_|SLURM_|OMP_)")
    env = {key: value for key, value in os.environ.items() if not launcher.match(key)}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    env.update({key: str(value) for key, value in more.items()})
    return env


def command(arguments, ranks=0):
    """The command line of `stoker ARGUMENTS`, under mpirun where ranks > 0."""
    launcher = []
    if ranks:
        launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    return [*launcher, STOKER, *map(str, arguments)]


def stoker(*arguments, ranks=0, expect=EXIT_DONE, timeout=300, env=None, cwd=None):
    """Runs stoker to its end; returns the CompletedProcess (text). `expect`: the exit code that it must return."""
    done = subprocess.run(command(arguments, ranks), env=environment(**(env or {})), cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, check=False)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"{' '.join(done.args)}\nreturned {done.returncode}, not {expect}\n"
                             f"stdout: {done.stdout[-2000:]}\nstderr: {done.stderr[-4000:]}")
    return done


class Launched:
    """A run that goes on while the test watches or disturbs it. `ranks` > 0 runs it under mpirun."""

    def __init__(self, arguments, ranks, folder, env=None):
        self.log = Path(folder) / f"terminal-{time.monotonic_ns()}.txt"
        with open(self.log, "w") as out:
            self.process = subprocess.Popen(command(arguments, ranks), env=environment(**(env or {})), stdout=out,
                                            stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    def rank_pids(self):
        """The processes that mpirun started on this machine; empty before it has."""
        try:
            return [int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
                    .read_text().split()]
        except FileNotFoundError:
            return []

    def wait(self, timeout=120):
        """The exit code; kills the run and raises if it has not ended within `timeout` seconds."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            for pid in self.rank_pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"not ended after {timeout} s: {self.text()[-3000:]}") from None

    def text(self):
        return self.log.read_text(errors="replace")


def is_running(pid):
    """True while a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def error_lines(stderr):
    return [line for line in stderr.splitlines() if line.startswith("stoker: error: ")]


def check_user_error(done, *words):
    """Exit 2 and exactly one error line, which holds every word; nothing else that starts with "stoker: error"."""
    lines = error_lines(done.stderr)
    assert done.returncode == EXIT_USER, f"exit {done.returncode}, not 2: {done.stderr[-3000:]}"
    assert len(lines) == 1, f"{len(lines)} error lines: {done.stderr[-3000:]}"
    for word in words:
        assert word.lower() in lines[0].lower(), f"{word!r} is not in: {lines[0]}"
    assert "HDF5-DIAG" not in done.stderr and "terminate called" not in done.stderr, done.stderr[-3000:]
    return lines[0]


def metrics(run_directory, phase="train"):
    """The lines of metrics.jsonl of a phase, as dictionaries; a torn line raises."""
    text = (Path(run_directory) / "metrics.jsonl").read_text()
    assert text == "" or text.endswith("\n"), "the last line of metrics.jsonl is torn"
    return [line for line in map(json.loads, text.splitlines()) if line["phase"] == phase]


TIME_FIELDS = ("samples_per_second", "time")


def metrics_without_time(run_directory):
    """metrics.jsonl as text, without the fields that depend on the clock: equal for equal training."""
    text = (Path(run_directory) / "metrics.jsonl").read_text()
    for field in TIME_FIELDS:
        text = re.sub(rf'"{field}":[^,}}]*,?', "", text)
    return text


def weights_hash(path):
    """What `stoker inspect --hash` prints for a file or directory."""
    lines = stoker("inspect", path, "--hash").stdout.split()
    assert len(lines) == 1 and re.fullmatch(r"[0-9a-f]{16,}", lines[0]), lines
    return lines[0]


def checkpoints(run_directory):
    """The steps of the checkpoints in a run directory, ascending."""
    folder = Path(run_directory) / "checkpoints"
    found = [re.fullmatch(r"step-(\d+)", entry.name) for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(match.group(1)) for match in found if match)


def checkpoint_path(run_directory, step):
    return Path(run_directory) / "checkpoints" / f"step-{step:08d}"


def save_npz(path, x, y):
    """An .npz of x and y; returns the DATA argument for it."""
    import numpy
    numpy.savez(path, x=x, y=y)
    return f"npz:{path}?x=x&y=y"


@contextlib.contextmanager
def quiet_keras():
    """Keras 3 on one CPU thread with deterministic ops; yields the module."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import keras
    import tensorflow
    tensorflow.config.experimental.enable_op_determinism()
    yield keras


def run_python(code, *arguments, env=None):
    """Runs Python code in a process of its own (Keras 2 and Keras 3 cannot share one); returns its stdout."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", **(env or {})))
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def require_program(name):
    if shutil.which(name) is None:
        raise Skip(f"{name} is not installed")
