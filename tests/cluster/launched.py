#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""launched.py READER HAS_PMIX: nodes that Slurm starts meet by PMIx, which also gives them a secret, and by PMI-1."""
import json
import os
import shutil
import sys
import tempfile

import private_slurm

NODES, FILES, CHUNKS = 4, 3, 2
# A node serves the others until all have read: each leaves a file, which has its last statistics at the end.
STEP = """dir=$1; shift
{{ echo go; until [ $(ls "$dir" | grep -vc new) -eq {nodes} ]; do sleep 0.1; done; echo now; }} |
  {reader} {files} {count} 0 0 listen=127.0.0.1 "$@" | while read -r line; do
    case $line in
    '{{'*) echo "$line" >"$dir/$SLURM_PROCID.new"; mv "$dir/$SLURM_PROCID.new" "$dir/$SLURM_PROCID" ;;
    esac
  done
"""


def read_by(slurm, folder, kind, *options):
    """The lines of all nodes, or what srun says."""
    results = os.path.join(folder, "results-" + kind)
    os.mkdir(results)
    done = slurm.run("srun", f"--mpi={kind}", "--overcommit", f"-N{NODES}", f"-n{NODES}", "sh", os.path.join(folder, "step"),
                     results, *options)
    lines = []
    for name in sorted(os.listdir(results)):
        with open(os.path.join(results, name), encoding="ascii") as file:
            lines.append(json.loads(file.read()))
    return lines, f"{done.returncode} {done.stdout} {done.stderr}"


def is_right(lines, said):
    keys = FILES * (1 + CHUNKS)
    right = len(lines) == NODES and all((r["answered"], r["errors"], r["wrong"]) == (keys, 0, 0) for r in lines)
    reads, rerouted = sum(r["storage_requests"] for r in lines), sum(r["rerouted"] for r in lines)
    right = right and keys <= reads <= keys + rerouted and sum(r["peer_requests"] for r in lines) > 0
    if not right:
        print(lines, said, file=sys.stderr)
    return right


def main():
    reader, has_pmix = os.path.realpath(sys.argv[1]), sys.argv[2] == "true"
    lacking = private_slurm.missing()
    if lacking:
        print(f"1..0 # SKIP {lacking}")
        return 0
    folder = tempfile.mkdtemp(prefix="auger-launched-")
    slurm = private_slurm.Slurm(os.path.join(folder, "slurm"), NODES)
    failed = 0
    try:
        files, secret = os.path.join(folder, "files"), os.path.join(folder, "secret")
        os.mkdir(files)
        for i in range(FILES):
            with open(f"{files}/f{i}", "wb") as file:
                file.write(os.urandom((CHUNKS - 1 << 20) + 77))
        with open(secret, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(32))
        with open(os.path.join(folder, "step"), "w", encoding="ascii") as step:
            step.write(STEP.format(nodes=NODES, reader=reader, files=files, count=FILES))
        slurm.start()
        print("1..2")
        offered = slurm.run("srun", "--mpi=list")
        if has_pmix and "pmix" in offered.stdout + offered.stderr:
            right = is_right(*read_by(slurm, folder, "pmix"))
            failed += not right
            print(f"{'' if right else 'not '}ok 1 - pmix", flush=True)
        else:
            print("ok 1 - pmix # SKIP no PMIx here")
        right = is_right(*read_by(slurm, folder, "pmi2", f"secret={secret}"))
        failed += not right
        print(f"{'' if right else 'not '}ok 2 - pmi", flush=True)
    finally:
        slurm.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
