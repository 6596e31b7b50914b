#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpi_launch.py AUGER FAULTY HAS_PMIX: views on nodes that Open MPI (PMIx) and MPICH (PMI-1) start, by "cache launch" and by hand.

A node is a process with mount and host name spaces of its own; both launchers reach it by a stand-in for ssh. The target
counts: what both nodes read leaves it once."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys

import overlay

NODES = 2
HAS_PMIX = sys.argv[3] == "true"
PART = ("json",)


class Skip(Exception):
    """What this machine lacks."""


def version_of(command):
    if not shutil.which(command):
        return ""
    return subprocess.run([command, "--version"], capture_output=True, text=True, check=False, timeout=overlay.PATIENCE).stdout


class OpenMpi:
    """mpirun of Open MPI."""

    name, by_hand, needs_pmix = "openmpi", (), True

    def __init__(self, job, agent):
        if "Open MPI" not in version_of("mpirun"):
            raise Skip("no mpirun of Open MPI")
        hosts = ",".join(f"node{node.rank}" for node in job.all)
        self.env = {**os.environ, "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": agent, "OMPI_MCA_oob_tcp_if_include": "lo"}
        self.command = ["mpirun", "--allow-run-as-root", "--enable-recovery", "--map-by", "ppr:1:node", "-n", str(NODES), "--host", hosts]


class Mpich:
    """hydra, of MPICH. Its PMI has no way for a secret."""

    name, needs_pmix = "mpich", False

    def __init__(self, job, agent):
        if not shutil.which("mpiexec.hydra"):
            raise Skip("no mpiexec.hydra")
        hosts = ",".join(f"node{node.rank}" for node in job.all)
        self.env = {**os.environ, "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": agent}
        self.command = ["mpiexec.hydra", "-disable-auto-cleanup", "-ppn", "1", "-n", str(NODES), "-hosts", hosts]
        secret = f"{job.dir}/secret"
        with open(secret, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(32))
        self.by_hand = ("--secret-file", secret)


def read_views(job):
    """Each node has right bytes. Returns what left the target twice."""
    want = overlay.walk(overlay.SOURCE, PART)
    job.calls()
    for node in job.all:
        assert overlay.walk(node.path(job.view), PART) == want, f"node {node.rank}"
    return {path: n for (op, path), n in job.calls().items() if op == "open" and n > 1}


def check_nodes(job, twice):
    """After the end: they were nodes of one overlay."""
    assert job.told("ranks") == NODES * NODES, f"{job.told('ranks')} nodes wrote how they ended"
    assert not twice or job.told("lost_peers"), twice # on a machine that did not let one run for a while


def run(launcher, *words):
    return subprocess.run([overlay.AUGER, "cache", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env=launcher.env, timeout=overlay.PATIENCE)


def check_launch(job, launcher):
    """launch and stop, which start the launcher themselves."""
    hosts = ",".join(f"node{node.rank}" for node in job.all)
    done = run(launcher, "launch", "--launcher", launcher.name, "--hosts", hosts, "--listen", "127.0.0.1", "-t", job.target, "-j",
               job.folder, job.view)
    try:
        assert done.returncode == 0 and f"on {NODES} nodes; ready after" in done.stderr, (done, words_of(f"{job.folder}/cluster/launch.log"))
        twice = read_views(job)
    finally:
        done = run(launcher, "stop", "--job", job.folder)
    assert done.returncode == 0 and f"{NODES} of {NODES} nodes ended in order" in done.stderr, done
    assert not [node.rank for node in job.all if node.has_view()], "a stopped launch leaves views"
    check_nodes(job, twice)


def words_of(path):
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return file.read()
    return ""


def check_by_hand(job, launcher):
    """The launcher starts mount, whose daemons meet by what it passes: without an address book."""
    if launcher.needs_pmix and not HAS_PMIX:
        raise Skip("built without PMIx")
    log = f"{job.dir}/log"
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen([*launcher.command, overlay.AUGER, "cache", "mount", "--foreground", "--listen", "127.0.0.1",
                                    *launcher.by_hand, "-t", job.target, "-j", job.folder, job.view], env=launcher.env, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out, start_new_session=True)
    try:
        for node in job.all:
            def is_there(node=node):
                assert process.poll() is None, words_of(log)
                return os.path.ismount(node.path(job.view))
            overlay.wait_until(is_there, f"the view of node {node.rank}")
        twice = read_views(job)
        for node in job.all:
            done = subprocess.run(node.command("umount", "--lazy", job.view), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done
        assert process.wait(overlay.PATIENCE) == 0, words_of(log)
        check_nodes(job, twice)
    except BaseException:
        print(process.poll(), words_of(log), file=sys.stderr)
        raise
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def check(kind, part):
    with overlay.Job(NODES) as job:
        job.all = [overlay.Node(job, rank) for rank in range(NODES)]
        part(job, kind(job, overlay.rsh_of(job)))


def main():
    lacking = "" if os.geteuid() == 0 and os.path.exists("/dev/fuse") else "needs root and /dev/fuse"
    if lacking:
        print(f"1..0 # SKIP {lacking}")
        return 0
    tests = [(kind, part) for kind in (OpenMpi, Mpich) for part in (check_launch, check_by_hand)]
    failed = 0
    for i, (kind, part) in enumerate(tests):
        words, skipped = "", ""
        try:
            check(kind, part)
        except Skip as reason:
            skipped = f" # SKIP {reason}"
        except BaseException:  # pylint: disable=broad-exception-caught
            import traceback
            traceback.print_exc()
            failed += 1
            words = "not "
        print(f"{words}ok {i + 1} - {kind.name} {part.__name__[6:]}{skipped}", flush=True)
    print(f"1..{len(tests)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
