#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""nodes_import.py AUGER FAULTY: "import pandas" on four nodes at once, from storage that takes 1 ms a call and moves 200 MB/s.

Nodes are name spaces of this machine, and share its CPUs: so the same imports without storage are timed, too. What left
storage is counted by the storage."""
import importlib.util
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import bench  # noqa: E402
import overlay  # noqa: E402

NODES = 4
MODULE = "pandas"
STORAGE = {"FAULTY_DELAY_US": "1000", "FAULTY_MB_S": "200"}


def start_import(node, folder):
    """In the node's mount name space."""
    code = f"import sys; sys.path.insert(0, {folder!r}); import {MODULE}; assert {MODULE}.__file__.startswith({folder!r})"
    return subprocess.Popen(["nsenter", f"--mount=/proc/{node.holder.pid}/ns/mnt", "/usr/bin/python3", "-I", "-B", "-c", code],
                            stdin=subprocess.DEVNULL, start_new_session=True)


def time_imports(nodes, folder):
    began = time.monotonic()
    running = [start_import(node, folder) for node in nodes]
    for process in running:
        assert process.wait() == 0, f"{MODULE} was not imported"
    return time.monotonic() - began


def measure(count, source):
    """Seconds without storage, seconds through the views, and calls of storage by kind."""
    with overlay.Job(count, source, **STORAGE) as job:
        job.start("-t", job.target)
        time_imports(job.all, source)
        local = time_imports(job.all, source)
        job.calls()
        taken = time_imports(job.all, job.view)
        calls = job.calls()
    kinds = {}
    for (operation, _), number in calls.items():
        kinds[operation] = kinds.get(operation, 0) + number
    return local, taken, kinds


def main():
    found = importlib.util.find_spec(MODULE)
    if not found or os.geteuid() != 0:
        print(f"needs root and {MODULE} of /usr/bin/python3")
        return
    source = os.path.dirname(os.path.dirname(found.origin))
    one_local, one, one_calls = measure(1, source)
    all_local, of_all, all_calls = measure(NODES, source)
    for name, local, taken, calls in (("1 node", one_local, one, one_calls), (f"{NODES} nodes", all_local, of_all, all_calls)):
        print(f"{name:8} {local:6.2f} s without storage, {taken:6.2f} s from it; calls of storage: "
              + ", ".join(f"{n} {kind}" for kind, n in sorted(calls.items())))
    for kind in ("open", "read", "readdir"):
        bench.row(f"{NODES} nodes import {MODULE}: {kind} of storage", all_calls.get(kind, 0), "calls", "1 node", one_calls.get(kind, 0),
                  most=1.05)
    bench.row(f"{NODES} nodes import {MODULE}: time besides the CPU's", of_all - all_local, "s", "1 node", one - one_local, most=1.3)


if __name__ == "__main__":
    main()
