#!/usr/bin/env python3
"""stoker on a real Slurm of three nodes: srun, sbatch, stops, requeues; and that the cluster leaves nothing behind.

All runs are the digits example on 8 virtual ranks, as the unprivileged user alice, and end with the weights of
`mpirun -n 4` on this machine. Runs are frozen (SIGSTOP) while they are disturbed, so that on a fast machine too they
are hit halfway.
"""

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from cluster import ADDRESSES, GRES_NODES, NODES, USERS, Cluster, shared_cluster, why_no_cluster
from hosts import describe
from stoker_testing import (EXIT_DONE, EXIT_STOPPED, SOURCE, STOKER, Skip, add_case, check_user_error, is_running, main,
                            session_folder, stoker, weights_hash)

TRAIN = ["train", "--config", "examples/digits/train.cfg", "--virtual-ranks", 8, "--threads", 1, "--epochs", 2,
         "--log-every", 5]
LINES_BEFORE = 4  # of 18 for training in metrics.jsonl, before a run is disturbed
HOST_FILES = ["passwd", "group", "hosts", "hostname", "resolv.conf", "slurm", "munge"]  # in /etc


def cluster_case(name):
    """Decorator: a case that gets the shared cluster and a new folder of alice's on it with the digits example. The
    nodes must be idle after it. What its jobs and the daemons said is added where it fails."""

    def register(function):
        def run(_):
            cluster = shared_cluster()
            install_stoker(cluster)
            folder = user_folder(cluster, function.__name__)
            try:
                function(cluster, folder)
                cluster.wait_until_idle()
            except Exception as error:
                for output in sorted(folder.glob("slurm-*.out")):
                    error.add_note(f"--- {output.name}\n{output.read_text(errors='replace')[-3000:]}")
                cluster.explain(error)
                raise

        add_case(name, run)
        return function

    return register


@functools.cache
def install_stoker(cluster):
    """Puts the program and the example where every user of the cluster can read them."""
    shutil.copy(STOKER, cluster.folder / "bin" / "stoker")
    shutil.copytree(SOURCE / "examples" / "digits", cluster.folder / "examples" / "digits")


def user_folder(cluster, name):
    """A new folder of alice's in which TRAIN finds its files."""
    folder = cluster.folder / "home" / "alice" / name
    folder.mkdir()
    (folder / "examples").symlink_to(cluster.folder / "examples")
    os.chown(folder, USERS["alice"], USERS["alice"])
    return folder


@functools.cache
def reference():
    """The run directory that mpirun -n 4 makes outside the cluster."""
    folder = session_folder()
    stoker(*TRAIN, "--output", folder / "run", ranks=4, cwd=SOURCE)
    return folder / "run"


def check_hash(run_directory):
    found, wanted = weights_hash(run_directory), weights_hash(reference())
    assert found == wanted, f"{run_directory} has the hash {found}, not {wanted}"


def train_by_srun(cluster, folder, *options):
    """A training by srun, which must end well; returns what the terminal showed."""
    done = cluster.srun(*options, "--mpi=pmix", "stoker", *TRAIN, "--output", "run", user="alice", cwd=folder)
    assert done.returncode == EXIT_DONE, describe(done)
    return done.stderr


def readme_script():
    """The batch script of README's section "On Slurm"."""
    section = (SOURCE / "README.md").read_text().split("\n## On Slurm\n")[1]
    return re.search(r"```sh\n(#!/bin/bash\n.*?)```", section, re.S).group(1)


def submit_readme_script(cluster, folder, *options):
    """Submits README's script as it stands, with a train.cfg beside it that says what TRAIN does; returns the job."""
    words = list(map(str, TRAIN[3:]))
    example = (SOURCE / "examples" / "digits" / "train.cfg").read_text()
    changed = dict(zip((word.removeprefix("--") for word in words[::2]), words[1::2]))
    kept = [line for line in example.splitlines() if line.partition("=")[0].strip() not in {*changed, "output"}]
    (folder / "train.cfg").write_text("\n".join([*kept, *(f"{key} = {value}" for key, value in changed.items()), ""]))
    return cluster.sbatch(readme_script(), *options, user="alice", cwd=folder)


def wait_until(what, condition, timeout=60):
    """Until condition() holds, which it returns; looked at often, since what it waits for may be short."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < end, f"after {timeout} s not yet: {what}"
        time.sleep(0.002)
    return value


def trainers(cluster):
    """The pids of all ranks on all nodes."""
    return [pid for host in cluster.nodes.values() for pid, (name, _) in host.processes().items() if name == "stoker"]


def has_logged(folder, lines):
    with contextlib.suppress(FileNotFoundError):
        return (folder / "run" / "metrics.jsonl").read_bytes().count(b"\n") >= lines
    return False


def freeze(cluster, folder):
    """Stops all four ranks once the run in `folder` has logged LINES_BEFORE lines; returns their pids."""
    pids = wait_until("four ranks", lambda: found if len(found := trainers(cluster)) == 4 else None)
    wait_until("steps in metrics.jsonl", lambda: has_logged(folder, LINES_BEFORE))
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


def is_pending(pid, number):
    """True while a signal waits for a process that is frozen."""
    pending = re.search(r"^ShdPnd:\s*(\S+)", Path(f"/proc/{pid}/status").read_text(), re.M).group(1)
    return int(pending, 16) >> (number - 1) & 1


def thaw(pids, number):
    """Lets frozen ranks go on once each has been sent the signal."""
    wait_until(f"{number!r} sent to all ranks", lambda: all(is_pending(pid, number) for pid in pids))
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def wait_until_ended(pids):
    """Until frozen ranks have ended by what Slurm sent them: SIGCONT comes first where it ends a job or warns it."""
    wait_until("all ranks ended", lambda: not any(map(is_running, pids)))


def check_requeued(cluster, job, folder):
    """The job ends well after exactly one restart, with the reference's weights, having gone on where it stopped."""
    end = cluster.wait(job)
    output = (folder / f"slurm-{job}.out").read_text()
    assert end == ("COMPLETED", EXIT_DONE), f"{end}\n{output}"
    assert cluster.job(job)["Restarts"] == "1", f"{cluster.job(job)}\n{output}"
    stops = re.findall(r"^stoker: stopped after step (\d+) of", output, re.M)
    starts = re.findall(r"^stoker: going on from step (\d+) of", output, re.M)
    assert stops == starts and len(stops) == 1, f"stopped after {stops}, went on from {starts}\n{output}"
    check_hash(folder / "run")


@cluster_case("three nodes come up; two have GPUs that Slurm knows, the third the device files only")
def nodes(cluster, folder):
    assert cluster.node_states() == {node: "idle" for node in NODES}
    assert cluster.slurmd_pids().keys() == set(NODES)
    for node in NODES:
        devices = cluster.run(node, ["bash", "-c", "ls /dev/nvidia*"]).stdout.split()
        assert devices == ["/dev/nvidia0", "/dev/nvidia1"], devices
        done = cluster.srun("-w", node, "--gpus-per-node=2", "printenv", "CUDA_VISIBLE_DEVICES", user="alice")
        if node in GRES_NODES:
            assert done.stdout == "0,1\n", describe(done)
        else:
            refused = "Requested node configuration is not available"
            assert done.returncode != 0 and refused in done.stderr, describe(done)


@cluster_case("a step as an unprivileged user: own identity and home, private /tmp, /run and /dev/shm")
def privacy(cluster, folder):
    code = 'id -un; hostname; touch /tmp/mark /dev/shm/mark "mark-$SLURM_PROCID"; ls /tmp /dev/shm; test ! -w /run'
    done = cluster.srun("-N3", "--label", "bash", "-c", code, user="alice", cwd=folder)
    assert done.returncode == 0, describe(done)
    for rank, node in enumerate(NODES):
        said = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith(f"{rank}: ")]
        assert said[:2] == ["alice", node] and said.count("mark") == 2, describe(done)
        assert (folder / f"mark-{rank}").stat().st_uid == USERS["alice"]
    assert not Path("/tmp/mark").exists() and not Path("/dev/shm/mark").exists()


@cluster_case("srun -N2 -n4 --mpi=pmix trains to the hash of mpirun -n 4")
def four_tasks(cluster, folder):
    terminal = train_by_srun(cluster, folder, "-N2", "-n4")
    assert "4 ranks, 8 virtual" in terminal, terminal
    check_hash(folder / "run")


@cluster_case("five tasks on two nodes, 3 + 2, train to the same hash")
def uneven(cluster, folder):
    options = ("-N2", "-n5", "--exclusive")
    shown = cluster.srun(*options, "printenv", "SLURM_STEP_TASKS_PER_NODE", user="alice").stdout
    assert shown.splitlines() == ["3,2"] * 5, shown
    terminal = train_by_srun(cluster, folder, *options)
    assert "5 ranks, 8 virtual" in terminal, terminal
    check_hash(folder / "run")


@cluster_case("srun --mpi=none is refused: lone copies would train")
def lone_copies(cluster, folder):
    done = cluster.srun("-n2", "--mpi=none", "stoker", *TRAIN, "--output", "run", user="alice", cwd=folder)
    check_user_error(done, "2 processes that are not connected by MPI", "srun --mpi=pmix")
    assert not (folder / "run").exists()


@cluster_case("a lone stoker evaluate in a batch script of four tasks")
def lone_evaluation(cluster, folder):
    shutil.copy(reference() / "model.h5", folder)
    script = """#!/bin/bash
        stoker evaluate --model model.h5 --data hdf5:examples/digits/digits-test.h5 --metrics accuracy --threads 1
        """
    job = cluster.sbatch(textwrap.dedent(script), "--nodes=2", "--ntasks=4", user="alice", cwd=folder)
    end = cluster.wait(job)
    output = (folder / f"slurm-{job}.out").read_text()
    assert end == ("COMPLETED", EXIT_DONE) and "accuracy" in output, f"{end}\n{output}"


@cluster_case("scancel -s USR1 ends srun with 75; the same command goes on to the same hash")
def usr1(cluster, folder):
    with open(folder / "terminal", "w") as terminal:
        command = ["srun", "--job-name=usr1", "-N2", "-n4", "--mpi=pmix", "stoker", *TRAIN, "--output", "run"]
        srun = cluster.start("login", command, user="alice", cwd=folder, stdout=terminal, stderr=terminal)
    pids = freeze(cluster, folder)
    cluster.scancel("-s", "USR1", "--name=usr1")
    thaw(pids, signal.SIGUSR1)
    code = srun.wait(60)
    assert code == EXIT_STOPPED, f"{code}\n{(folder / 'terminal').read_text()}"
    train_by_srun(cluster, folder, "-N2", "-n4")
    check_hash(folder / "run")


@cluster_case("README's batch script: scancel -s USR1 requeues it, and it goes on to the same hash")
def readme_usr1(cluster, folder):
    job = submit_readme_script(cluster, folder)
    pids = freeze(cluster, folder)
    step = cluster.scontrol("--oneliner", "show", "step", f"{job}.0")
    assert re.search(r" CPUs=32 Tasks=4 ", step), f"the tasks have not the 8 CPUs each that the job asks for: {step}"
    cluster.scancel("-s", "USR1", job)
    thaw(pids, signal.SIGUSR1)
    check_requeued(cluster, job, folder)


@cluster_case("README's batch script near its time limit: --signal requeues it, and it goes on to the same hash")
def readme_time_limit(cluster, folder):
    job = submit_readme_script(cluster, folder, "--time=10", "--signal=USR1@600")  # due at once: within half a minute
    wait_until_ended(freeze(cluster, folder))
    cluster.scontrol("update", f"JobId={job}", "TimeLimit=60")
    check_requeued(cluster, job, folder)


@cluster_case("scontrol requeue halfway: the job goes on to the same hash")
def requeue(cluster, folder):
    job = submit_readme_script(cluster, folder)
    pids = freeze(cluster, folder)
    cluster.scontrol("requeue", job)
    wait_until_ended(pids)
    check_requeued(cluster, job, folder)


@cluster_case("a slurmd that was killed comes back")
def killed_slurmd(cluster, folder):
    os.kill(cluster.slurmd_pids()["n2"], signal.SIGKILL)
    wait_until("no slurmd on n2", lambda: "n2" not in cluster.slurmd_pids())
    cluster.start_slurmd("n2")
    done = cluster.srun("-w", "n2", "hostname", user="bob")
    assert done.stdout == "n2\n", describe(done)


def without_names(_):
    with Cluster(names_resolve=False) as cluster:
        folder = user_folder(cluster, "without_names")
        install_stoker(cluster)
        assert cluster.run("n1", ["getent", "hosts", "n2"]).returncode == 2
        assert cluster.run("n1", ["bash", "-c", f"echo >/dev/tcp/{ADDRESSES['login']}/6817"]).returncode == 0
        train_by_srun(cluster, folder, "-w", "n[2-3]", "-n4")
        check_hash(folder / "run")


add_case("nodes whose names do not resolve: the same hash", without_names)


def namespace_users(namespaces):
    """The processes that live in one of these namespaces, given as /proc/PID/ns/* shows them."""
    found = []
    for link in Path("/proc").glob("[0-9]*/ns/[pmn]*"):
        with contextlib.suppress(OSError):
            if os.readlink(link) in namespaces:
                found.append(link)
    return found


def namespaces_of(pids):
    """The pid, mount and network namespaces of processes."""
    return {os.readlink(f"/proc/{pid}/ns/{kind}") for pid in pids for kind in ("pid", "mnt", "net")}


def host_state():
    """What a cluster must leave alone on this machine: mounts, interfaces, the files of /etc that it covers."""
    mounts = Path("/proc/self/mountinfo").read_text()
    files = [path for name in HOST_FILES for path in (Path("/etc") / name, *(Path("/etc") / name).glob("**/*"))]
    times = [(path, path.lstat().st_mtime) for path in files if path.exists()]
    return mounts, sorted(os.listdir("/sys/class/net")), times


def killed_test(_):
    reason = why_no_cluster()
    if reason:
        raise Skip(reason)
    before = host_state()
    code = ("from cluster import Cluster\n"
            "with Cluster() as cluster:\n"
            "    cluster.start('login', ['srun', '-N3', 'sleep', '100'])\n"
            "    print(cluster.folder, *[host.pid for host in cluster.hosts()], flush=True)\n"
            "    input()\n")
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as test:
        folder, *pids = test.stdout.readline().split()
        namespaces = namespaces_of(pids)
        assert len(pids) == 1 + len(NODES) and namespace_users(namespaces)
        test.kill()
    wait_until("the cluster is gone", lambda: not Path(folder).exists() and not namespace_users(namespaces), 20)
    assert not any(is_running(pid) for pid in pids)
    assert host_state() == before


add_case("a test that is killed leaves no process, mount, interface or file", killed_test)


def tidy(_):
    before = host_state()
    cluster = shared_cluster()
    assert cluster.node_states() == {node: "idle" for node in NODES}
    left = {host.name: [name for name, _ in host.processes().values()] for host in cluster.hosts()}
    assert left == {"login": left["login"], **{node: ["slurmd"] for node in NODES}}, left
    assert set(left["login"]) == {"munged", "slurmctld", "slurmscriptd"}, left
    namespaces = namespaces_of(host.pid for host in cluster.hosts())
    cluster.close()
    assert not namespace_users(namespaces) and not cluster.folder.exists()
    assert host_state() == before


add_case("after all cases the nodes are idle and run nothing; closing the cluster leaves nothing on this machine", tidy)

if __name__ == "__main__":
    main()
