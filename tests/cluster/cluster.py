"""A private Slurm of several nodes on this machine, for tests: slurmctld, three slurmd and munge in namespaces.

    with Cluster(plugstack_lines=["required /path/to/plugin.so"]) as cluster:
        done = cluster.srun("-N2", "-n4", "hostname", user="alice")
        job = cluster.sbatch("#!/bin/bash\\nsleep 1\\n", "--nodes=2")
        state, code = cluster.wait(job)

The machines are `login` (slurmctld, munged; srun and sbatch run there) and the nodes n1, n2, n3 of 16 CPUs each. n1
and n2 have GPUs that Slurm knows (GRES gpu:a100), n3 has the same device files /dev/nvidia* and no GRES. `folder` is
the one place that all machines and the test share, under the same path everywhere: `folder/bin` is first on the PATH,
`folder/home/USER` the home of root and of the unprivileged users alice and bob, `folder/etc` is /etc/slurm, and
`folder/log` has the logs. Needs root. Nothing is changed on this machine, and all of it is gone at the end, also when
the test is killed. Boots in about two seconds.
"""

import atexit
import functools
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections import namedtuple
from pathlib import Path

from hosts import Host, connect, describe, why_impossible
from stoker_testing import Skip

NODES = ("n1", "n2", "n3")
GRES_NODES = ("n1", "n2")
ADDRESSES = {"login": "10.77.0.1", "n1": "10.77.0.11", "n2": "10.77.0.12", "n3": "10.77.0.13"}
USERS = {"alice": 6001, "bob": 6002}
PORTS = (20000, 24999)  # MpiParams: what SLURM_STEP_RESV_PORTS is taken from
BOOT_SECONDS = 30

SLURM_CONF = """
ClusterName=test
SlurmctldHost=login({controller})
SlurmUser=slurm
AuthType=auth/munge
# A requeued job waits for cred_expire and the next pass of the scheduler: two minutes and more by default.
AuthInfo=socket={folder}/munge/socket,cred_expire=5
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=100000
KillWait=5
ReturnToService=2
MessageTimeout=30
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
# More CPUs than this machine has, and processes followed by their parents: cgroups stay as they are.
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
MpiDefault=pmix
MpiParams=ports={ports[0]}-{ports[1]}
PlugStackConfig=/etc/slurm/plugstack.conf
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# The states in which a job stays, unless it is requeued by hand.
FINAL_STATES = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE",
                "PREEMPTED", "SPECIAL_EXIT"}

JobEnd = namedtuple("JobEnd", "state exit_code")


class Cluster:
    """See the module's text. `plugstack_lines`: the lines of plugstack.conf; `conf_lines`: more lines for slurm.conf;
    `gpus`: per node; `names_resolve`: False leaves the nodes' names out of /etc/hosts, so that only Slurm knows them.
    """

    def __init__(self, plugstack_lines=(), conf_lines=(), gpus=2, names_resolve=True):
        reason = why_no_cluster()
        if reason:
            raise Skip(reason)
        self.folder = Path(tempfile.mkdtemp(prefix="stoker-cluster-"))
        self._janitor = start_janitor(self.folder)
        self._gpus = gpus
        self.nodes, self.login = {}, None
        try:
            self._write_files(plugstack_lines, conf_lines, names_resolve)
            self._boot_hosts()
            self._start_daemons()
            self.wait_until_idle(BOOT_SECONDS)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self.explain(error)
        self.close()

    def close(self):
        """Ends all machines and removes the folder. May be called again."""
        for host in self.hosts():
            host.close()
        self.nodes, self.login = {}, None
        self._janitor.stdin.close()
        self._janitor.wait()

    def hosts(self):
        return [*([self.login] if self.login else []), *self.nodes.values()]

    # Running things.

    def srun(self, *arguments, **how):
        """`srun ARGUMENTS` on the login machine; how: user, env, cwd, timeout, input as in Host.run()."""
        return self.login.run(["srun", *arguments], **how)

    def run(self, node, command, **how):
        """Runs a command (a list) on a node or "login"; how: as in Host.run()."""
        return self.host(node).run(command, **how)

    def start(self, node, command, **how):
        """Starts a command on a node or "login"; returns its Popen; how: as in Host.start()."""
        return self.host(node).start(command, **how)

    def host(self, name):
        return self.login if name == "login" else self.nodes[name]

    def sbatch(self, script, *options, user=None, env=None, cwd=None):
        """Submits the text of a batch script; returns the job's id (str)."""
        done = self.login.run(["sbatch", "--parsable", *options], user=user, env=env, cwd=cwd, input=script)
        assert done.returncode == 0, describe(done)
        return done.stdout.strip()

    def scontrol(self, *arguments):
        """`scontrol ARGUMENTS` as root, which must succeed; returns what it printed."""
        done = self.login.run(["scontrol", *arguments])
        assert done.returncode == 0, describe(done)
        return done.stdout

    def scancel(self, *arguments):
        done = self.login.run(["scancel", *arguments])
        assert done.returncode == 0, describe(done)

    # What the cluster says.

    def job(self, job):
        """The fields that `scontrol show job` prints, as {name: value}."""
        return dict(re.findall(r"(?:^|(?<=\s))([A-Za-z/:]+)=(\S*)", self.scontrol("--oneliner", "show", "job", job)))

    def wait(self, job, timeout=120):
        """Until the job has ended for good; returns its JobEnd: state, exit code (of a signal: minus its number)."""
        end = time.monotonic() + timeout
        while (fields := self.job(job))["JobState"] not in FINAL_STATES:
            if time.monotonic() > end:
                raise AssertionError(f"job {job} has not ended after {timeout} s: {fields}")
            time.sleep(0.2)
        code, signal = map(int, fields["ExitCode"].split(":"))
        return JobEnd(fields["JobState"], -signal if signal else code)

    def node_states(self):
        """{node: its state as sinfo writes it: idle, allocated, drained, …}."""
        done = self.login.run(["sinfo", "--noheader", "--Node", "--format=%N %T"])
        assert done.returncode == 0, describe(done)
        return dict(line.split() for line in done.stdout.splitlines())

    def wait_until_idle(self, timeout=30):
        """Until every node is idle, hence no step is left on it; raises where one stays otherwise (drained, down)."""
        end = time.monotonic() + timeout
        while True:
            done = self.login.run(["sinfo", "--noheader", "--Node", "--format=%N %T"])
            if done.returncode == 0 and done.stdout.split() == [word for node in NODES for word in (node, "idle")]:
                return
            if time.monotonic() > end:
                raise AssertionError(f"not all nodes are idle after {timeout} s: {describe(done)}\n{self.log_ends()}")
            time.sleep(0.1)

    def slurmd_pids(self):
        """{node: the pid of its slurmd, as this process sees it}; without the nodes where none runs."""
        return {name: pid for name, host in self.nodes.items() for pid, (program, _) in host.processes().items()
                if program == "slurmd"}

    def start_slurmd(self, node):
        """Starts the node's slurmd, also again after a test has killed it."""
        done = self.nodes[node].run(["slurmd"])
        assert done.returncode == 0, describe(done)

    def write_plugstack(self, lines):
        """Replaces plugstack.conf at once; holds for all jobs from now on (slurmd itself reads it when it starts)."""
        new = self.folder / "etc" / "plugstack.conf.new"
        new.write_text("".join(f"{line}\n" for line in lines))
        new.rename(new.with_suffix(""))

    def log_ends(self, lines=15):
        """The ends of the daemons' logs."""
        return "\n".join("\n".join([f"--- {path.name}", *path.read_text(errors="replace").splitlines()[-lines:]])
                         for path in sorted((self.folder / "log").glob("slurm*.log")))

    def explain(self, error):
        """Adds the ends of the logs to an exception; with $STOKER_BUILD, keeps the logs there and says where."""
        error.add_note(self.log_ends())
        if "STOKER_BUILD" in os.environ:
            kept = Path(os.environ["STOKER_BUILD"]) / "cluster-logs"
            shutil.copytree(self.folder / "log", kept, dirs_exist_ok=True)
            error.add_note(f"the whole logs: {kept}")

    # Booting.

    def _write_files(self, plugstack_lines, conf_lines, names_resolve):
        self.folder.chmod(0o755)
        for name in ("bin", "etc", "home", "log", "munge"):
            (self.folder / name).mkdir()
        for user, number in {"root": 0, **USERS}.items():
            home = self.folder / "home" / user
            home.mkdir(mode=0o700)
            os.chown(home, number, number)
        etc, home = self.folder / "etc", self.folder / "home"
        hosts = ["127.0.0.1 localhost"]
        if names_resolve:
            hosts += [f"{address} {name}" for name, address in ADDRESSES.items()]
        files = {
            "hosts": hosts,
            "passwd": [f"{user}:x:{number}:{number}::{home}/{user}:/bin/bash" for user, number in USERS.items()],
            "group": [f"{user}:x:{number}:" for user, number in USERS.items()],
            "gres.conf": [f"NodeName={node} Name=gpu Type=a100 File={self._gpu_files()}" for node in GRES_NODES],
            "slurm.conf": [SLURM_CONF.format(controller=ADDRESSES["login"], folder=self.folder, ports=PORTS),
                           *map(self._node_line, NODES), *conf_lines],
        }
        for name, lines in files.items():
            (etc / name).write_text("".join(f"{line}\n" for line in lines))
        self.write_plugstack(plugstack_lines)

    def _gpu_files(self):
        return "/dev/nvidia0" if self._gpus == 1 else f"/dev/nvidia[0-{self._gpus - 1}]"

    def _node_line(self, node):
        gres = f" Gres=gpu:a100:{self._gpus}" if node in GRES_NODES else ""
        return f"NodeName={node} NodeAddr={ADDRESSES[node]} Sockets=2 CoresPerSocket=8 ThreadsPerCore=1{gres}"

    def _boot_hosts(self):
        self.login = Host("login", self.folder, 0)
        self.nodes = {name: Host(name, self.folder, self._gpus) for name in NODES}
        for host in self.hosts():
            host.wait_until_up()
        connect(self.login, self.nodes.values(), ADDRESSES)

    def _start_daemons(self):
        munge = self.folder / "munge"
        key = munge / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        slurm = pwd.getpwnam("slurm")
        for command in (
                ["munged", f"--key-file={key}", f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                 f"--log-file={self.folder}/log/munged.log", f"--seed-file={munge}/seed", "--force"],
                ["install", "-d", "-o", slurm.pw_uid, "-g", slurm.pw_gid, "/var/spool/slurmctld"],
                ["slurmctld"]):
            done = self.login.run(command)
            assert done.returncode == 0, f"{describe(done)}\n{self.log_ends()}"
        for node in NODES:
            self.start_slurmd(node)


def start_janitor(folder):
    """A process that removes `folder` when its standard input is closed: by Cluster.close(), or because the test was
    killed, when the machines that still write into the folder end at the same time."""
    code = 'cat >/dev/null; for _ in $(seq 50); do rm -rf "$1" 2>/dev/null && exit; sleep 0.1; done'
    return subprocess.Popen(["bash", "-c", code, "janitor", str(folder)], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def why_no_cluster():
    """Why no cluster can be had here, or None."""
    for program in ("munged", "slurmctld", "slurmd", "srun"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return why_impossible()


@functools.cache
def shared_cluster():
    """A cluster with the default settings that a script's cases share, until the script ends."""
    cluster = Cluster()
    atexit.register(cluster.close)
    return cluster
