"""The machines of the test cluster: each is a set of Linux namespaces (host_init.sh says what is private to it)."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

INIT = Path(__file__).resolve().parent / "host_init.sh"
NAMESPACES = ("--net", "--mount", "--uts", "--ipc", "--pid")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TIMED_OUT = 124  # what timeout(1) returns


class Host:
    """One machine. It lives until close(), or until this process ends."""

    def __init__(self, name, folder, gpus):
        """Starts the machine; wait_until_up() before it is used. `folder`: what all machines share."""
        self.name, self.folder = name, Path(folder)
        self._unshare = subprocess.Popen(
            ["unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
             "bash", str(INIT), name, str(folder), str(gpus)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.pid = None

    def wait_until_up(self):
        said = self._unshare.stdout.readline()
        if said != "up\n":
            raise RuntimeError(f"{self.name} did not start: {said}{self._unshare.stdout.read()}")
        children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children").read_text().split()
        self.pid = int(children[0])

    def command(self, arguments, user=None, env=None, cwd=None):
        """(command line, environment) that run `arguments` on this machine, in place of those that subprocess takes.

        The environment is a new login's, changed by `env` (None removes a variable). `cwd`: the home if not given.
        """
        home = self.folder / "home" / (user or "root")
        variables = {"PATH": f"{self.folder}/bin:{PATH}", "HOME": str(home), "USER": user or "root",
                     "LOGNAME": user or "root", "SHELL": "/bin/bash", "LC_ALL": "C.UTF-8", **(env or {})}
        identity = ["/usr/bin/setpriv", "--reuid", user, "--regid", user, "--init-groups"] if user else []
        enter = ["/usr/bin/nsenter", "--target", str(self.pid), *NAMESPACES, *identity]
        return ([*enter, "/usr/bin/env", "-C", str(cwd or home), *map(str, arguments)],
                {key: str(value) for key, value in variables.items() if value is not None})

    def run(self, arguments, user=None, env=None, cwd=None, timeout=60, input=None):
        """Runs a command to its end; returns the CompletedProcess (text). Raises after `timeout` seconds."""
        limited = ["/usr/bin/timeout", "--kill-after=5", str(timeout), *arguments]
        line, variables = self.command(limited, user, env, cwd)
        stdin = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        done = subprocess.run(line, env=variables, **stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False, timeout=timeout + 20)
        done.args = list(map(str, arguments))
        if done.returncode == TIMED_OUT:
            raise AssertionError(f"not ended after {timeout} s on {self.name}: {describe(done)}")
        return done

    def start(self, arguments, user=None, env=None, cwd=None, **popen):
        """Starts a command; returns its Popen (of nsenter, which passes on the exit code but no signals)."""
        line, variables = self.command(arguments, user, env, cwd)
        return subprocess.Popen(line, env=variables, **{"stdin": subprocess.DEVNULL, **popen})

    def processes(self):
        """{pid as this process sees it: (name, command line)} of what runs on the machine, without its process 1."""
        found = {}
        own = os.readlink(f"/proc/{self.pid}/ns/pid")
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                pid = int(folder.name)
                if pid != self.pid and os.readlink(folder / "ns" / "pid") == own:
                    words = (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                    found[pid] = ((folder / "comm").read_text().strip(), words.strip())
        return found

    def close(self):
        """Ends the machine with all that runs on it, at once."""
        if self.pid is None:
            self._unshare.kill()
        elif self._unshare.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self._unshare.wait()
        self._unshare.stdin.close()
        self._unshare.stdout.close()


def describe(done):
    """A CompletedProcess as text for a failure's message."""
    return (f"{' '.join(done.args)}\nreturned {done.returncode}\nstdout: {done.stdout[-3000:]}\n"
            f"stderr: {done.stderr[-3000:]}")


def why_impossible():
    """Why machines cannot be made here, or None."""
    if os.geteuid() != 0:
        return "namespaces need root"
    for program in ("unshare", "nsenter", "setpriv", "ip"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    trial = subprocess.run(["unshare", *NAMESPACES, "--fork", "--mount-proc", "true"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return None if trial.returncode == 0 else f"namespaces are not allowed here: {trial.stderr.strip()}"


def connect(controller, hosts, addresses):
    """Joins machines by a bridge that lives on `controller`; addresses: {machine's name: IPv4 address}, one /24."""

    def ip(host, *arguments):
        done = host.run(["ip", *arguments])
        assert done.returncode == 0, describe(done)

    ip(controller, "link", "add", "bridge", "type", "bridge")
    ip(controller, "address", "add", f"{addresses[controller.name]}/24", "dev", "bridge")
    ip(controller, "link", "set", "bridge", "up")
    for host in hosts:
        line = ["/usr/bin/nsenter", "--target", str(controller.pid), "--net", "ip", "link", "add", host.name,
                "type", "veth", "peer", "name", "eth0", "netns", str(host.pid)]
        subprocess.run(line, stdin=subprocess.DEVNULL, check=True)
        ip(controller, "link", "set", host.name, "master", "bridge", "up")
        ip(host, "address", "add", f"{addresses[host.name]}/24", "dev", "eth0")
        ip(host, "link", "set", "eth0", "up")
