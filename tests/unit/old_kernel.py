#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""old_kernel.py TOOL OLD_KERNEL: commands of auger without the system calls that came after Linux 5.0, by ENOSYS as there
and by EPERM as in containers of old runtimes."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../live"))
import live  # pylint: disable=wrong-import-position

ERRORS = ("ENOSYS", "EPERM")


def auger(bench, error, *words, **more):
    return bench.run(bench.workloads, error, bench.tool, *words, **more)


def stat(bench):
    for error in ERRORS:
        done = auger(bench, error, "stat", "-f", "json", "-o", f"stat-{error}", "--", "sh", "-c", "exit 3", status=3)
        rows = json.loads(pathlib.Path(bench.path(f"stat-{error}")).read_text(encoding="utf-8"))
        bench.check("exit status" in json.dumps(rows), f"{error}: {done.stderr}")


def record(bench):
    for error in ERRORS:
        auger(bench, error, "record", "-o", f"{error}.pb.gz", "--", "sh", "-c",
              "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
        bench.check(bench.run(bench.tool, "report", f"{error}.pb.gz").stdout,
                    f"{error}: no report")


def record_process(bench):
    """It ends with the process, long before the duration."""
    for error in ERRORS:
        sleeper = subprocess.Popen(["sleep", "1"])
        auger(bench, error, "record", "-p", str(sleeper.pid), "-o", f"p{error}.pb.gz", "--duration", "60")
        bench.equal(sleeper.wait(), 0, "sleep")


def syscalls(bench):
    """The same calls as with PTRACE_GET_SYSCALL_INFO."""
    def counts(prefix):
        done = bench.run(*prefix, bench.tool, "syscalls", "--method", "ptrace", "-f", "json", "-o", "calls", "--",
                         "cat", "/proc/version")
        rows = json.loads(pathlib.Path(bench.path("calls")).read_text(encoding="utf-8"))["rows"]
        bench.check(rows, f"no calls: {done.stderr}")
        return {row["call"]: row["calls"] for row in rows}
    want = counts(())
    for error in ERRORS:
        bench.equal(counts((bench.workloads, error)), want, error)


def cache(bench):
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        raise live.Skip("needs root and /dev/fuse")
    target, view = bench.path("target"), bench.path("view")
    os.makedirs(f"{target}/sub")
    os.mkdir(view)
    pathlib.Path(f"{target}/sub/file").write_text("content", encoding="utf-8")
    os.symlink("sub/file", f"{target}/link")
    for error in ERRORS:
        auger(bench, error, "cache", "mount", "--target", target, view)
        try:
            for name in ("sub/file", "link"):
                bench.equal(pathlib.Path(f"{view}/{name}").read_text(encoding="utf-8"), "content", f"{error}: {name}")
            bench.equal(sorted(os.listdir(view)), ["link", "sub"], error)
            bench.check(not os.path.exists(f"{view}/none"), f"{error}: a name that is absent")
        finally:
            auger(bench, error, "cache", "umount", view)
        bench.check(not os.path.ismount(view), f"{error}: still mounted")


if __name__ == "__main__":
    live.main([stat, record, record_process, syscalls, cache])
