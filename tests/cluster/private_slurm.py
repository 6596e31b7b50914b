# SPDX-License-Identifier: MIT
"""A Slurm of several fake nodes on this machine, in a folder of its own. All daemons are children and end with the
program, whatever happens."""
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time

TOOLS = ("munged", "slurmctld", "slurmd", "srun", "sinfo", "scontrol")
PATIENCE_S = 90
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1

CONF = """ClusterName=auger
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/run/munge.sock
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/run/slurmctld.pid
SlurmdPidFile={dir}/run/slurmd-%n.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd-%n.log
SlurmctldPort={port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
InactiveLimit=0
KillWait=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
TmpFS={dir}/tmp/%n
{nodes}
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8 MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def missing():
    """What this machine lacks for it; "" when nothing."""
    if os.geteuid() != 0:
        return "a private Slurm needs root"
    lacking = [name for name in TOOLS if not shutil.which(name)]
    return "no " + ", ".join(lacking) if lacking else ""


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Slurm:
    """Nodes n0, n1, ... in a partition."""

    def __init__(self, folder, count):
        self.folder = folder
        self.names = [f"n{i}" for i in range(count)]
        self.env = {**os.environ, "SLURM_CONF": self.path("slurm.conf"), "LC_ALL": "C"}
        self.daemons = []
        for name in ("run", "state", "log", "spool", "tmp"):
            os.makedirs(self.path(name), 0o755)
        for node in self.names:
            os.mkdir(self.path("spool", node))
            os.mkdir(self.path("tmp", node))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def configure(self):
        host = socket.gethostname().split(".")[0]
        ports = free_ports(len(self.names) + 1)
        nodes = "\n".join(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={os.cpu_count()}"
                          for name, port in zip(self.names, ports[1:]))
        with open(self.path("slurm.conf"), "w", encoding="ascii") as conf:
            conf.write(CONF.format(dir=self.folder, host=host, port=ports[0], nodes=nodes))
        with open(self.path("run", "munge.key"), "wb") as key:
            os.fchmod(key.fileno(), 0o600)
            key.write(os.urandom(1024))

    def daemon(self, name, *command):
        with open(self.path("log", name + ".out"), "w", encoding="utf-8") as log:
            self.daemons.append(subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 start_new_session=True, preexec_fn=die_with_parent))

    def wait_for(self, what, condition):
        until = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"{what} did not come: {os.listdir(self.path('log'))}")
            time.sleep(0.1)

    def start(self):
        self.configure()
        run = self.path("run")
        self.daemon("munged", "munged", "--foreground", "--force", f"--key-file={run}/munge.key",
                    f"--socket={run}/munge.sock", f"--pid-file={run}/munged.pid", f"--log-file={self.path('log')}/munged.log",
                    f"--seed-file={run}/munge.seed", "--num-threads=2")
        self.wait_for("munge's socket", lambda: os.path.exists(f"{run}/munge.sock"))
        self.daemon("slurmctld", "slurmctld", "-D", "-f", self.path("slurm.conf"))
        for name in self.names:
            self.daemon(name, "slurmd", "-D", "-N", name, "-f", self.path("slurm.conf"))
        self.wait_for("the nodes", self.is_idle)

    def is_idle(self):
        done = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], env=self.env, capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        return done.stdout.split() == ["idle"] * len(self.names)

    def run(self, *command):
        return subprocess.run(command, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)

    def stop(self):
        if os.path.exists(self.path("slurm.conf")):
            try:
                subprocess.run(["scontrol", "shutdown"], env=self.env, check=False, timeout=10, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                pass
        for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 30)):
            for daemon in self.daemons:
                if daemon.poll() is None:
                    daemon.send_signal(number)
            until = time.monotonic() + patience
            while any(d.poll() is None for d in self.daemons) and time.monotonic() < until:
                time.sleep(0.05)
