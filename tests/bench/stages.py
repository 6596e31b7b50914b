#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stages.py AUGER: what reducing stage reports costs: `auger stages` against jq, and against
Python's json with the sums that the document's pandas snippet makes (pandas as well, where it is).
SIZE_MIB (environment, default 256) of JSON lines as a corpus run leaves them: one record an input,
with its findings and a report of eight stages. Peers get the first PEER_MIB (32). Prints the least
CPU seconds of some runs, MiB a CPU second, and the ratio to auger, which gets ADDRESS_MIB of address
space whatever the size."""
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

import bench

AUGER = sys.argv[1]
SIZE, PEER = (int(os.environ.get(name, default)) << 20
              for name, default in (("SIZE_MIB", 256), ("PEER_MIB", 32)))
RUNS, ADDRESS_MIB = 3, 96
STAGES = ["load", "extract", "classify", "classify.model", "classify.features", "link",
          "link.resolve", "write"]
JQ = ("reduce (inputs | .profile.stages[]?) as $s ({}; .[$s.stage] |="
      " [(.[0] // 0) + $s.wall_s, ([(.[1] // 0), $s.py_kb_peak_max] | max), (.[2] // 0) + $s.calls])")
PYTHON = """
import json, sys
sums = {}
for r in map(json.loads, open(sys.argv[1])):
    for s in r.get("profile", {}).get("stages", []):
        wall, peak, calls = sums.get(s["stage"], (0, 0, 0))
        sums[s["stage"]] = wall + s["wall_s"], max(peak, s["py_kb_peak_max"]), calls + s["calls"]
print(sums)
"""
PANDAS = """
import json, sys, pandas as pd
rows = [{"app": r["input"], **s} for r in map(json.loads, open(sys.argv[1]))
        for s in r.get("profile", {}).get("stages", [])]
print(pd.DataFrame(rows).groupby("stage")[["wall_s", "py_kb_peak_max"]]
      .agg({"wall_s": "sum", "py_kb_peak_max": "max"}).sort_values("wall_s", ascending=False))
"""


def make_row(rng, stage):
    wall = 0.1 * rng.lognormvariate(0, 1)
    return {"stage": stage, "calls": rng.randrange(1, 50), "wall_s": round(wall, 9),
            "wall_max_s": round(wall / 2, 9), "cpu_s": round(wall * 0.9, 6),
            "py_kb_delta": rng.randrange(-10, 100), "py_kb_peak_max": rng.randrange(1000, 90000),
            "rss_kb_delta": rng.randrange(5000)}


def make_record(rng, number):
    flows = [{"from": "Lcom/example/A%d;->m()V" % i, "to": "Landroid/net/Uri;->parse", "line": i}
             for i in range(rng.randrange(5))]
    profile = {"total_wall_s": round(rng.uniform(1, 3), 9), "rss_kb_now": 95436,
               "python_memory_traced": True, "host": "n%03d" % (number % 64),
               "stages": [make_row(rng, stage) for stage in STAGES]}
    return json.dumps({"input": "app%06d.apk" % number, "flows": flows, "profile": profile}) + "\n"


def write_corpus(path, size):
    """A part of it is made, and repeated."""
    rng = random.Random(1)
    part = "".join(make_record(rng, i) for i in range(5000)).encode()
    with open(path, "wb") as out:
        while out.tell() < size:
            out.write(part)
    return os.path.getsize(path)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_MIB << 20, ADDRESS_MIB << 20))


def measure(command):
    """The least CPU seconds."""
    least = None
    for _ in range(RUNS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                   preexec_fn=limit_memory if command[0] == AUGER else None)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit("%s failed" % command[0])
        seconds = usage.ru_utime + usage.ru_stime
        least = seconds if least is None else min(least, seconds)
    return least


def show(what, size, seconds, base=None):
    """Returns MiB a CPU second."""
    speed = size / seconds / (1 << 20)
    print("%-24s %7.3f CPU s %7.0f MiB/s %s"
          % (what, seconds, speed, "x%.1f" % (base / speed) if base else ""))
    if base:
        bench.row("auger stages", base, "MiB/s", what, speed)
    else:
        bench.row(what, speed, "MiB/s")
    return speed


def has_pandas():
    return subprocess.run([PYTHON3, "-c", "import pandas"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


PYTHON3 = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def main():
    with tempfile.TemporaryDirectory() as folder:
        big, small = os.path.join(folder, "big.jsonl"), os.path.join(folder, "small.jsonl")
        size, peer_size = write_corpus(big, SIZE), write_corpus(small, PEER)
        base = show("auger stages", size, measure([AUGER, "stages", big]))
        show("auger stages --by host", size, measure([AUGER, "stages", "--by", "host", big]))
        show("auger stages --by input", size, measure([AUGER, "stages", "--by", "input", big]))
        for packer, ending in (("gzip", ".gz"), ("zstd", ".zst")):
            if shutil.which(packer):
                subprocess.run([packer, "-q", "-k", small], check=True)
                show("auger stages, " + packer, peer_size,
                     measure([AUGER, "stages", small + ending]))
        show("python json", peer_size, measure([PYTHON3, "-c", PYTHON, small]), base)
        if has_pandas():
            show("pandas", peer_size, measure([PYTHON3, "-c", PANDAS, small]), base)
        if shutil.which("jq"):
            show("jq", peer_size, measure(["jq", "-n", JQ, small]), base)


if __name__ == "__main__":
    main()
