#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""convert.py AUGER MANY_SAMPLES: how long `auger convert` takes to read and write, beside go tool
pprof (where Go is installed): a profile of 44,000 stacks; and 10 million samples that were not
summed, which must fit in 256 MiB."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile

import bench
import report
from report import measure, show

AUGER, MANY_SAMPLES = sys.argv[1:3]
LIMIT_MIB = 256


def compare(what, ours, peer_name, peer):
    ours = measure(ours)
    show(what, *ours)
    if shutil.which("go"):
        peer = measure(peer)
        show(peer_name, *peer, "x%.1f" % (peer[0] / ours[0]))
        bench.row(what, ours[0], "CPU s", peer_name, peer[0])
    else:
        bench.row(what, ours[0], "CPU s")


def alone(what, command):
    ours = measure(command)
    show(what, *ours)
    bench.row(what, ours[0], "CPU s")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        folded, profile, out, many = (os.path.join(folder, name) for name in
                                      ("x.folded", "x.pb.gz", "out.pb.gz", "many.pb.gz"))
        report.write_folded(folded)
        subprocess.run([AUGER, "convert", folded, "-o", profile], check=True)
        print("44,000 stacks: folded %.1f MB, pprof %.1f MB"
              % (os.path.getsize(folded) / 1e6, os.path.getsize(profile) / 1e6))
        compare("pprof to pprof", [AUGER, "convert", profile, "-o", out], "go tool pprof -proto",
                ["go", "tool", "pprof", "-symbolize=none", "-proto", "-output", out, profile])
        compare("pprof to folded", [AUGER, "convert", profile, "--to", "folded"],
                "go tool pprof -traces",
                ["go", "tool", "pprof", "-symbolize=none", "-traces", profile])
        alone("folded to pprof", [AUGER, "convert", folded, "-o", out])
        for name in ("speedscope", "firefox", "callgrind"):
            alone("pprof to " + name, [AUGER, "convert", profile, "--to", name])
        subprocess.run([MANY_SAMPLES, many], check=True)
        report.RUNS = 1
        seconds, memory = measure([AUGER, "convert", many, "-o", out])
        show("10,000,000 samples", seconds, memory, "(limit %d MiB)" % LIMIT_MIB)
        bench.row("10,000,000 samples", memory, "MiB", most=LIMIT_MIB)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
