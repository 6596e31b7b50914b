# What the runs of a folder have in common is shown once; what differs in them is summed, or only with -v.
mkdir runs
python3 -B - "$GOLDEN" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from make_profiles import Profile

for node, samples in enumerate((206, 210, 210)):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
    p.sample([p.location("/usr/bin/solver", [("work", "work.c", 3)])], [samples, samples * 1000000])
    for comment in ("command: ./solver -n 4", f"host: node{node}, Linux", "cpu-clock, 999 Hz", "recorded by: auger",
                    f"samples: {samples}, lost: 0", f"stacks: {97 + node}.0 % complete", f"CPU time: 2{node} s"):
        p.comment(comment)
    p.write(f"runs/{node}.pb.gz")
END
auger report runs
auger report -v runs 2>/dev/null
auger report runs/2.pb.gz
auger report -f json runs
auger merge runs -o all.pb.gz && auger report all.pb.gz
