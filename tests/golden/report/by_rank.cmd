# 16 ranks on 4 hosts, with known truth: rank 5 computes three times as much, host n2 is slow, all else is chance.
cat >make.py <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from make_profiles import Profile, block, number

MS = 1000000


def write(name, work, ranks=16, hosts=4):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
    p.extra = block(11, number(1, p.text("cpu")) + number(2, p.text("nanoseconds"))) + number(12, MS)
    kernel, wait, write = (p.location("/usr/bin/solver", [("main", "a.c", 1), (name, "a.c", 2)][::-1])
                           for name in ("kernel", "MPI_Allreduce", "MPI_File_write"))
    for rank in range(ranks):
        labels = [("rank", rank), ("host", f"n{rank * hosts // ranks}")]
        for stack, ms in ((kernel, work(rank)), (wait, 3200 - work(rank)), (write, 50)):
            p.sample([stack], [ms, ms * MS], labels)
    p.write(name)


write("even.pb.gz", lambda rank: 1000 + rank * 7 % 5 * 9)
write("slow_rank.pb.gz", lambda rank: (3000 if rank == 5 else 1000) + rank * 7 % 5 * 9)
write("slow_host.pb.gz", lambda rank: (1500 if 8 <= rank < 12 else 1000) * (2 if rank == 9 else 1) + rank * 7 % 5 * 9)
write("two.pb.gz", lambda rank: 3000 if rank else 1000, 2, 1)
END
python3 -B make.py "$GOLDEN"
auger report --by rank even.pb.gz -n 4
auger report --by rank slow_rank.pb.gz -n 4
auger report --by rank slow_host.pb.gz -n 6
auger report --by rank two.pb.gz -f csv
auger report --by rank slow_rank.pb.gz -f json -n 1
auger report --by rank --sort name slow_rank.pb.gz --label host=n1 -f csv
echo 'kernels stack kernel' >rules
auger report --by rank --classes rules slow_rank.pb.gz -n 1 -f csv
printf 'main;f 3\nmain;g 1\n' | auger report --by rank -
