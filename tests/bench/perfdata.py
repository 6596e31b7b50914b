#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""perfdata.py AUGER [SECONDS]: from what perf recorded to a flame graph, beside perf script alone,
the first stage of the usual pipe: 20,000 samples a second of a python program, by frame pointers
and with copies of the stack. CPU seconds of one run each, largest memory, ratio."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile

import bench

AUGER = os.path.realpath(sys.argv[1])
SECONDS = sys.argv[2] if len(sys.argv) > 2 else "6"
WORK = """
import json, re, sys, time, zlib
end = time.process_time() + float(sys.argv[1])
data = {str(i): [i, str(i) * 3, {"x": i / 7}] for i in range(3000)}
while time.process_time() < end:
    text = json.dumps(data, indent=1)
    json.loads(text)
    re.findall(r"[0-9]+(?=\\.)", text)
    zlib.compress(text.encode(), 6)
"""


def measure(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    size = 0
    while block := process.stdout.read(1 << 20):
        size += len(block)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit("%s failed" % " ".join(command))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, size / 1e6


def samples_in(path):
    text = subprocess.run(["perf", "report", "--stats", "-i", path], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return next(int(line.split()[2]) for line in text.splitlines() if "SAMPLE events:" in line)


def compare(graph, folder):
    data, text = os.path.join(folder, "perf.data"), os.path.join(folder, "perf.script")
    subprocess.run(["perf", "record", "-q", "-F", "20000", "-e", "cpu-clock", "-m", "2048",
                    "--call-graph", graph, "-o", data, "--", "/usr/bin/python3", "-c", WORK,
                    SECONDS], check=True, stderr=subprocess.DEVNULL)
    print("--call-graph %s: %d samples, %.0f MB"
          % (graph, samples_in(data), os.path.getsize(data) / 1e6))
    flame = [AUGER, "flame", "-o", os.path.join(folder, "x.svg")]
    ours = measure([*flame, data])
    print("  %-24s %7.3f CPU s %6.0f MiB" % ("auger flame perf.data", *ours[:2]))
    theirs = measure(["perf", "script", "-i", data])
    print("  %-24s %7.3f CPU s %6.0f MiB x%.1f, %.0f MB of text"
          % ("perf script", *theirs[:2], theirs[0] / ours[0], theirs[2]))
    bench.row(f"perf.data to a flame graph, {graph}", ours[0], "CPU s", "perf script alone", theirs[0])
    bench.row(f"perf.data to a flame graph, {graph}", ours[1], "MiB", "perf script alone", theirs[1])
    with open(text, "wb") as out:
        subprocess.run(["perf", "script", "-i", data], stdout=out, check=True,
                       stderr=subprocess.DEVNULL)
    seconds, memory, _ = measure([*flame, text])
    print("  %-24s %7.3f CPU s %6.0f MiB %.0f MB/s"
          % ("auger flame of that text", seconds, memory, theirs[2] / seconds))
    bench.row(f"perf script's text to a flame graph, {graph}", theirs[2] / seconds, "MB/s")


def main():
    if not shutil.which("perf"):
        print("perf is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        for graph in ("fp", "dwarf"):
            compare(graph, folder)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
