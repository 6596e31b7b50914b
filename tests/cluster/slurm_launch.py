#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slurm_launch.py AUGER: "auger cache launch" and "stop" in an allocation of a private Slurm.

Each slurmd has a mount name space of its own, so each fake node has its own view."""
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import private_slurm

AUGER = os.path.abspath(sys.argv[1])
NODES = 2
TARGET = sysconfig.get_path("stdlib") + "/json"
SCRIPT = """
set -e
{auger} cache launch --listen 127.0.0.1 --profile -t {target} -j {dir}/job {dir}/view
srun --overlap --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 sh -c 'cat {dir}/view/*.py | cksum'
{auger} cache stats --cluster -f csv {dir}/job
{auger} cache stop --job {dir}/job
srun --overlap --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 sh -c 'ls {dir}/view | wc -l'
"""


class Slurm(private_slurm.Slurm):
    def daemon(self, name, *command):
        prefix = ("unshare", "--mount", "--propagation", "private") if command[0] == "slurmd" else ()
        super().daemon(name, *prefix, *command)


def is_right(slurm, folder):
    script = os.path.join(folder, "script")
    with open(script, "w", encoding="ascii") as f:
        f.write(SCRIPT.format(auger=AUGER, target=TARGET, dir=folder, nodes=NODES))
    want = subprocess.run(f"cat {TARGET}/*.py | cksum", shell=True, capture_output=True, text=True, check=True).stdout
    done = slurm.run("salloc", "-Q", f"-N{NODES}", f"-n{NODES}", "--overcommit", "sh", script)
    lines = done.stdout.splitlines()
    right = (done.returncode == 0 and lines[0] == folder + "/job" and lines[1:1 + NODES] == [want.strip()] * NODES
             and lines[-NODES:] == ["0"] * NODES and f"on {NODES} nodes; ready after" in done.stderr
             and f"{NODES} of {NODES} nodes ended in order" in done.stderr
             and os.path.exists(folder + "/job/profiling/cluster/cluster-profiling_summary.md"))
    if not right:
        print(done.returncode, done.stdout, done.stderr, file=sys.stderr)
        for name in ("launch.log", "stop.log"):
            if os.path.exists(f"{folder}/job/cluster/{name}"):
                with open(f"{folder}/job/cluster/{name}", encoding="utf-8") as f:
                    print(f.read(), file=sys.stderr)
    return right


def main():
    lacking = private_slurm.missing() or ("" if shutil.which("salloc") else "no salloc")
    if not lacking and not os.path.exists("/dev/fuse"):
        lacking = "no /dev/fuse"
    if lacking:
        print(f"1..0 # SKIP {lacking}")
        return 0
    folder = tempfile.mkdtemp(prefix="auger-slurm-launch-")
    slurm = Slurm(os.path.join(folder, "slurm"), NODES)
    try:
        slurm.start()
        right = is_right(slurm, folder)
        print(f"1..1\n{'' if right else 'not '}ok 1 - launch", flush=True)
    finally:
        slurm.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
