#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpi_record.py AUGER: "auger record" as each rank of Open MPI and of MPICH: one folder a launch, labels, one summary."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

AUGER = os.path.realpath(sys.argv[1])
RANKS, SLOW, PATIENCE = 4, 2, 240
# Rank 2 computes three times as much.
WORK = """import os, time
rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK"))
while time.process_time() < (0.9 if rank == "%d" else 0.3):
    pass
""" % SLOW
# What mpi.h declares, of both ABIs: libraries are there more often than headers.
PROGRAM = r"""
#include <time.h>
#ifdef OPEN_MPI
extern char ompi_mpi_comm_world[], ompi_mpi_int[], ompi_mpi_op_sum[];
#define WORLD ompi_mpi_comm_world
#define INT ompi_mpi_int
#define SUM ompi_mpi_op_sum
typedef void *handle;
#else
#define WORLD 0x44000000
#define INT 0x4c000405
#define SUM 0x58000003
typedef int handle;
#endif
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Comm_rank(handle comm, int *rank);
int MPI_Allreduce(const void *from, void *to, int count, handle type, handle op, handle comm);

__attribute__((noinline)) static void compute(double s)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec < s);
}
int main(int argc, char **argv)
{
	struct timespec t;
	int rank, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &rank);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	compute((double)t.tv_sec + 1e-9 * (double)t.tv_nsec + (rank == 2 ? 0.9 : 0.3));
	MPI_Allreduce(&rank, &sum, 1, INT, SUM, WORLD);
	MPI_Finalize();
	return 0;
}
"""
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(RANKS)],
    "mpich": ["mpiexec.hydra", "-n", str(RANKS)],
}


class Skip(Exception):
    """What this machine lacks."""


def run(folder, *command):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "PMI", "OMPI_", "AUGER_"))}
    return subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=PATIENCE)


def rows_of(folder, by, run_folder):
    names = [f"{run_folder}/{name}" for name in os.listdir(os.path.join(folder, run_folder)) if name.endswith(".pb.gz")]
    run(folder, AUGER, "merge", *names, "-o", "all.pb.gz")
    return json.loads(run(folder, AUGER, "report", "--by", by, "-f", "json", "all.pb.gz").stdout)["rows"]


def folders(folder):
    return sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))


def check(folder, launcher):
    """Two launches: two folders with a file a rank; the slow rank is the first row, and has three times the median."""
    for number in (1, 2):
        done = run(folder, *launcher, AUGER, "record", "--", sys.executable, "-S", "-c", WORK)
        assert len(folders(folder)) == number, folders(folder)
        assert done.stderr.count(" samples of ") == 1 and f"this is rank 0 of {RANKS}" in done.stderr, done.stderr
    host = os.uname().nodename
    for name in folders(folder):
        assert name.startswith("auger-"), name
        assert sorted(os.listdir(os.path.join(folder, name))) == sorted([".run"] + [f"{host}.{rank}.pb.gz" for rank in range(RANKS)]), name
        rows = rows_of(folder, "rank", name)
        assert sorted(row["rank"] for row in rows) == [str(rank) for rank in range(RANKS)], rows
        assert rows[0]["rank"] == str(SLOW) and rows[0]["total"] > 2 * rows[1]["total"], rows
        assert [row["host"] for row in rows_of(folder, "host", name)] == [host]


def check_named(folder, launcher):
    """-o FOLDER/ and a pattern; ranks below a shell."""
    run(folder, *launcher, "sh", "-c", f"{AUGER} record -o run/ -- true; :")
    run(folder, *launcher, AUGER, "record", "-o", "%r.of.%h.pb.gz", "--", "true")
    host = os.uname().nodename
    assert folders(folder) == ["run"], folders(folder)
    assert len(os.listdir(os.path.join(folder, "run"))) == RANKS + 1, os.listdir(os.path.join(folder, "run"))
    names = sorted(name for name in os.listdir(folder) if name.endswith(".pb.gz"))
    assert names == [f"{rank}.of.{host}.pb.gz" for rank in range(RANKS)], names


def check_classes(folder, launcher):
    """A rank that computes longer is waited for in MPI_Allreduce, by ranks that compute less than it."""
    abi = ("-l:libmpich.so.12",) if "hydra" in launcher[0] else ("-l:libmpi.so.40", "-DOPEN_MPI")
    with open(os.path.join(folder, "slow.c"), "w", encoding="ascii") as file:
        file.write(PROGRAM)
    try:
        run(folder, "cc", "-O1", "-g", "slow.c", "-o", "slow", *abi)
    except (OSError, subprocess.CalledProcessError) as failure:
        raise Skip(f"no cc or no {abi[0]}") from failure
    done = run(folder, *launcher, AUGER, "record", "-o", "run/", "--", "./slow")
    assert re.search(r"^  .*MPI \d+ % \(MPI_\w+ in main \d+ %\)", done.stderr, re.M), done.stderr
    by_rank = {row["rank"]: row["total"] for row in rows_of(folder, "rank", "run")}
    rows = json.loads(run(folder, AUGER, "report", "--by", "class", "-f", "json", "all.pb.gz").stdout)["rows"]
    classes = {row["class"]: row["total"] for row in rows}
    assert len(by_rank) == RANKS and classes["compute"] > 0.5e9 and classes["mpi.collective"] > 0, (by_rank, classes)
    rows = json.loads(run(folder, AUGER, "report", "--imbalance", "--sort", "total", "-f", "json", "all.pb.gz").stdout)["rows"]
    compute = [row for row in rows if row["function"] == "compute"]
    truth = (0.9 - (0.9 + 3 * 0.3) / RANKS) * RANKS * 1e9
    assert compute and compute[0]["max_rank"] == str(SLOW) and abs(compute[0]["saved"] - truth) < 0.15 * truth, (truth, rows)


def main():
    number = failed = 0
    for name, launcher in LAUNCHERS.items():
        for part in (check, check_named, check_classes):
            number += 1
            words, skipped = "", ""
            folder = tempfile.mkdtemp(prefix="auger-mpi-")
            try:
                if shutil.which(launcher[0]):
                    part(folder, launcher)
                else:
                    skipped = f" # SKIP no {launcher[0]}"
            except Skip as reason:
                skipped = f" # SKIP {reason}"
            except BaseException as failure:  # pylint: disable=broad-exception-caught
                import traceback
                traceback.print_exc()
                print(getattr(failure, "stderr", ""), file=sys.stderr)
                failed += 1
                words = "not "
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            print(f"{words}ok {number} - {name} {part.__name__}{skipped}", flush=True)
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
