#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""control.py AUGER [MIB]: samples a second through kpoprofile at the shortest period, what the
daemon costs at 1 kHz on all cores, and how fast a trace (default 1024 MiB) is converted."""

import os
import subprocess
import sys
import tempfile
import time

import bench

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "control"))
from mount import Mount  # noqa: E402

AUGER = os.path.realpath(sys.argv[1])
MIB = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
SECONDS = 5


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(m, period_us):
    """Samples and bytes a second that a reader got, CPU of the daemon, and the trace."""
    m.write(f"opclear\noptimer period {period_us}\noptimer all on\nopstart\n")
    before, begin = m.status(), time.monotonic()
    used = cpu_s(m.daemon.pid)
    path = m.path + ".trace"
    with open(path, "wb") as out, subprocess.Popen(["cat", m.file("kpoprofile")], stdout=out) as cat:
        time.sleep(SECONDS)
        used, seconds = cpu_s(m.daemon.pid) - used, time.monotonic() - begin
        m.write("opstop\noptimer all off\n")
        cat.wait()
    after = m.status()
    counts = {k: int(after[k]) - int(before[k]) for k in ("samples", "dropped", "lost", "throttled")}
    with open(path, "rb") as f:
        data = f.read()
    os.unlink(path)
    print("period %d us: %.0f samples/s, %.2f MB/s, daemon %.2f %% of a CPU; %d dropped, %d lost, "
          "%d times throttled" % (period_us, counts["samples"] / seconds, len(data) / seconds / 1e6,
                                  100 * used / seconds, counts["dropped"], counts["lost"],
                                  counts["throttled"]))
    bench.row(f"kpoprofile, period {period_us} us", counts["samples"] / seconds, "samples/s")
    bench.row(f"daemon, period {period_us} us", 100 * used / seconds, "% of a CPU")
    return data


def convert(data):
    """A trace of the size that is asked for, made of what was sampled, again and again."""
    with tempfile.TemporaryDirectory() as folder:
        trace, out = (os.path.join(folder, name) for name in ("trace", "out.pb.gz"))
        with open(trace, "wb") as f:
            while f.tell() < MIB << 20:
                f.write(data)
        for what, command in (("read", ["cat", trace]),
                              ("convert", [AUGER, "convert", "--from", "akaros", trace, "-o", out])):
            begin = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds = time.monotonic() - begin
            print("%s %d MiB: %.2f s, %.0f MiB/s" % (what, MIB, seconds, MIB / seconds))
        bench.row("trace to a profile", MIB / seconds, "MiB/s")


if os.getuid() or not os.path.exists("/dev/fuse"):
    print("needs root and FUSE")
else:
    with Mount(AUGER) as mounted:
        measure(mounted, 1000)
        trace_data = measure(mounted, 100)
    convert(trace_data)
