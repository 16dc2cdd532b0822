"""Builds the mirrored source tree and runs the test suites; called by tests/run.

A case is a GoogleTest case (read from the XML that each program writes) or a line of TAP from a script
`tests/SUITE/test_*.py`. Programs that end badly without saying which case failed count as one failure.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections import namedtuple
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("STOKER_BUILD", SOURCE.parent))
JOBS = str(os.cpu_count() or 1)
EXCERPT_LINES = 60

Counts = namedtuple("Counts", "passed failed skipped")


def environment(**more):
    """The environment of every command: root may run mpirun, Python finds tests/lib.py, scripts find the oracle."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C.UTF-8",
               PYTHONPATH=str(SOURCE / "tests"), PYTHONDONTWRITEBYTECODE="1", TF_CPP_MIN_LOG_LEVEL="3",
               CUDA_VISIBLE_DEVICES="", STOKER_PYTHON=sys.executable,
               STOKER=str(BUILD / "build" / "trainer" / "stoker"),
               CCACHE_NOHASHDIR="1", CCACHE_BASEDIR=str(BUILD), TMPDIR=scratch())
    env.update(more)
    return env


def scratch():
    """Where tests write: in memory if there is room, since thousands of small checkpoints wait for fsync."""
    shared_memory = "/dev/shm"
    if os.access(shared_memory, os.W_OK) and shutil.disk_usage(shared_memory).free > 1 << 30:
        return shared_memory
    return tempfile.gettempdir()


def excerpt(text):
    lines = text.splitlines()
    if len(lines) > EXCERPT_LINES:
        lines = ["…"] + lines[-EXCERPT_LINES:]
    return "".join(f"    | {line}\n" for line in lines)


def run(command, cwd, log, **env):
    """Runs a command with its output in `log`; returns its exit code."""
    with open(log, "w") as out:
        return subprocess.run(command, cwd=cwd, env=environment(**env), stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT, check=False).returncode


def build(name, *configure_options, targets=("all",), cxxflags="-O2 -g1"):
    """Configures (once) and makes the build folder `name`; returns the folder, or None with the reason printed."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    log = BUILD / f"{name}.log"
    steps = []
    if not (SOURCE / "configure").exists():
        steps.append((["autoreconf", "-fi"], SOURCE))
    if not (folder / "config.status").exists():
        steps.append(([str(SOURCE / "configure"), "-q", "--enable-werror", "CXX=ccache g++", f"CXXFLAGS={cxxflags}",
                       *configure_options], folder))
    steps.append((["make", "-s", "-j", JOBS, *targets], folder))
    for command, cwd in steps:
        if run(command, cwd, log) != 0:
            print(f"  failed: {' '.join(command)} in {cwd}; the end of {log}:\n{excerpt(log.read_text())}", flush=True)
            return None
    return folder


def count_gtest(results):
    """Sums the XML files in a folder; returns counts and the failures' texts."""
    passed = failed = skipped = 0
    messages = []
    for path in sorted(results.glob("*.xml")):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            failures = case.findall("failure")
            if failures:
                failed += 1
                messages.append(f"{path.stem}: {name}\n{excerpt(failures[0].text or '')}")
            elif case.get("result") == "skipped" or case.find("skipped") is not None:
                skipped += 1
                reason = case.find("skipped")
                text = "" if reason is None else (reason.get("message") or "").strip().splitlines()[-1:]
                messages.append(f"{path.stem}: {name} skipped: {' '.join(text)}")
            elif case.get("status") == "run":
                passed += 1
    return Counts(passed, failed, skipped), messages


def make_check(folder, env=None, make=("check",)):
    """`make check` in a build folder; counts GoogleTest cases, and programs that failed without naming one."""
    results = folder / "gtest-xml"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    log = folder.parent / f"{folder.name}-check.log"
    code = run(["make", "-k", "-j", JOBS, *make], folder, log, GTEST_OUTPUT=f"xml:{results}/", **(env or {}))
    counts, messages = count_gtest(results)
    for trs in sorted(folder.glob("tests/**/*.trs")):
        program, outcome = trs.with_suffix("").name, trs.read_text()
        named = any(message.startswith(f"{program}: ") and " skipped: " not in message for message in messages)
        if re.search(r"^:test-result: (FAIL|ERROR|XPASS)", outcome, re.M):
            if not named:
                counts = counts._replace(failed=counts.failed + 1)
                messages.append(f"{program}\n{excerpt(trs.with_suffix('.log').read_text(errors='replace'))}")
        elif not (results / f"{program}.xml").exists():  # a script: one case
            skipped = ":test-result: SKIP" in outcome
            counts = counts._replace(passed=counts.passed + (not skipped), skipped=counts.skipped + skipped)
            if skipped:
                messages.append(f"{program} skipped: {trs.with_suffix('.log').read_text(errors='replace').strip()}")
    if code != 0 and counts.failed == 0:
        counts = counts._replace(failed=1)
        messages.append(f"make {' '.join(make)} failed\n{excerpt(log.read_text(errors='replace'))}")
    return counts, messages


def count_tap(text, name):
    """Counts TAP lines; a plan that was not met is a failure."""
    passed = failed = skipped = 0
    messages = []
    results = re.findall(r"^(ok|not ok) \d+ - (.*)$", text, re.M)
    for result, case in results:
        if "# SKIP" in case:
            skipped += 1
            messages.append(f"{name}: {case.replace(' # SKIP', ' skipped:')}")
        elif result == "ok":
            passed += 1
        else:
            failed += 1
            detail = re.search(rf"^not ok \d+ - {re.escape(case)}\n((?:#.*\n)*)", text, re.M)
            messages.append(f"{name}: {case}\n{excerpt(detail.group(1) if detail else '')}")
    plan = re.search(r"^1\.\.(\d+)", text, re.M)
    if not plan or int(plan.group(1)) != len(results):
        failed += 1
        messages.append(f"{name}: ended after {len(results)} of {plan.group(1) if plan else '?'} cases\n{excerpt(text)}")
    return Counts(passed, failed, skipped), messages


def scripts(suite, prefix=(), **env):
    """Runs tests/SUITE/test_*.py, with the optimised build unless `env` says otherwise; `prefix` starts the command."""
    if build("build") is None:
        return Counts(0, 1, 0), []
    total, messages = Counts(0, 0, 0), []
    for script in sorted((SOURCE / "tests" / suite).glob("test_*.py")):
        log = BUILD / f"{suite}-{script.stem}.log"
        run([*prefix, sys.executable, str(script)], BUILD, log, **env)
        counts, said = count_tap(log.read_text(errors="replace"), f"{suite}/{script.stem}")
        total = Counts(*map(sum, zip(total, counts)))
        messages += said
    return total, messages


def unit():
    folder = build("build")
    return make_check(folder) if folder else (Counts(0, 1, 0), [])


def address_sanitizer():
    """The unit tests, the MPI ones too, under AddressSanitizer and UndefinedBehaviorSanitizer."""
    folder = build("asan", "--enable-sanitizers", targets=("all",), cxxflags="-O1 -g1")
    if folder is None:
        return Counts(0, 1, 0), []
    leaks = f"suppressions={SOURCE}/tests/sanitizers/lsan.supp:print_suppressions=0"
    return make_check(folder, {"LSAN_OPTIONS": leaks, "ASAN_OPTIONS": "detect_stack_use_after_return=1"})


def thread_sanitizer():
    """Trainings whose prefetch, writer and communication threads ThreadSanitizer watches."""
    folder = build("tsan", "--enable-sanitizers=thread", cxxflags="-O1 -g1",
                   targets=("trainer/stoker", "tests/sanitizers/planted_race"))
    if folder is None:
        return Counts(0, 1, 0), []
    # Without address space randomisation: where it is wide, ThreadSanitizer sometimes looks for its memory for ever.
    return scripts("sanitizers", ("setarch", "-R"), STOKER=str(folder / "trainer" / "stoker"),
                   PLANTED_RACE=str(folder / "tests" / "sanitizers" / "planted_race"))


def distcheck():
    """A case: the archive of `make dist` builds, tests, installs, uninstalls and cleans up on its own."""
    folder = build("build")
    if folder is None:
        return Counts(0, 1, 0), []
    log = BUILD / "distcheck.log"
    # Not optimised: what counts here is that the archive is whole, and it compiles in half the time.
    options = "AM_DISTCHECK_CONFIGURE_FLAGS=--enable-werror 'CXX=ccache g++' CXXFLAGS=-O0"
    if run(["make", "-j", JOBS, "distcheck", options], folder, log) != 0:
        return Counts(0, 1, 0), [f"make distcheck; the end of {log}\n{excerpt(log.read_text(errors='replace'))}"]
    return Counts(1, 0, 0), []


SUITES = {
    "unit": unit,
    "golden": lambda: scripts("golden"),
    "cli": lambda: scripts("cli"),
    "learning": lambda: scripts("learning"),
    "exactness": lambda: scripts("exactness"),
    "faults": lambda: scripts("faults"),
    "cluster": lambda: scripts("cluster"),
    "asan": address_sanitizer,
    "tsan": thread_sanitizer,
    "distcheck": distcheck,
}


def main():
    parser = argparse.ArgumentParser(prog="tests/run", description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"[all]: {' '.join(SUITES)}")
    parser.add_argument("--list", action="store_true", help="name the suites and end")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(SUITES))
        return 0
    unknown = [name for name in arguments.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite {unknown[0]}; there are: {' '.join(SUITES)}")
    total = Counts(0, 0, 0)
    for name in arguments.suites or SUITES:
        start = time.monotonic()
        print(f"{name} …", flush=True)
        counts, messages = SUITES[name]()
        for message in messages:
            print(f"  {'' if ' skipped: ' in message else 'FAILED '}{message.rstrip()}")
        print(f"  {name}: {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped "
              f"({time.monotonic() - start:.0f} s)", flush=True)
        total = Counts(*map(sum, zip(total, counts)))
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
