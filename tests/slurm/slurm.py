#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slurm.py AUGER PIPELINE EXAMPLES: the array job of examples/slurm under a Slurm of its own.

Starts munged, mariadbd, slurmdbd, slurmctld and slurmd of Debian in a private folder with ports of
their own, submits the array of ten tasks, reduces its results, and compares with what Slurm says of
the jobs. All daemons are children of this program and end with it, whatever happens. TAP on
stdout."""
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

AUGER, PIPELINE, EXAMPLES = (os.path.abspath(path) for path in sys.argv[1:4])
TOOLS = ["munged", "mariadbd", "mariadb", "mariadb-install-db", "slurmdbd", "sacctmgr", "slurmctld",
         "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "sacct", "scancel"]
TASKS, FILES = 10, 23
LIBC = ctypes.CDLL(None)
PATIENCE = 90  # seconds, for each thing that is waited for

CONF = """ClusterName=auger
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/run/munge.sock
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/run/slurmctld.pid
SlurmdPidFile={dir}/run/slurmd.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
InactiveLimit=0
KillWait=2
MinJobAge=300
SchedulerParameters=sched_interval=1,batch_sched_delay=0
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={ports[2]}
AccountingStoragePass={dir}/run/munge.sock
JobCompType=jobcomp/filetxt
JobCompLoc={dir}/log/jobcomp.txt
TmpFS={dir}/tmp
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:4 MaxTime=INFINITE State=UP
"""

DATABASE_CONF = """AuthType=auth/munge
AuthInfo=socket={dir}/run/munge.sock
DbdHost=localhost
DbdPort={ports[2]}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=x
StorageLoc=slurm_acct_db
LogFile={dir}/log/slurmdbd.log
PidFile={dir}/run/slurmdbd.pid
"""
DATABASE = """create database slurm_acct_db;
create user 'slurm'@'localhost' identified by 'x';
grant all on slurm_acct_db.* to 'slurm'@'localhost';
"""
LONG_JOB = """#!/bin/sh
#SBATCH --output=long.log
export AUGER_STAGES=full
end=$(($(date +%s) + 5))
while [ "$(date +%s)" -lt $end ]; do ./pipeline corpus.txt long 0 1; done
"""


class Skip(Exception):
    """This machine cannot run it, for this reason."""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          timeout=PATIENCE, **options).stdout


def wait_for(what, is_done):
    end = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError("%s did not come in %d s" % (what, PATIENCE))
        time.sleep(0.1)


def die_with_parent():
    """In a child: also when this program is killed (PR_SET_PDEATHSIG)."""
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


def children_of(pid):
    """Also theirs: orphans are given to us (PR_SET_CHILD_SUBREAPER)."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task), encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    found += [child] + children_of(child)
    except OSError:
        pass
    return found


def end_children():
    """All that this program started, and what they started."""
    for word, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        for pid in children_of(os.getpid()):
            try:
                os.kill(pid, word)
            except ProcessLookupError:
                pass
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.05)
            except ChildProcessError:
                return


class Cluster:
    """A Slurm of one node, with its database, that lives in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.env = dict(os.environ, SLURM_CONF=os.path.join(folder, "slurm.conf"), LC_ALL="C",
                        MYSQL_UNIX_PORT=os.path.join(folder, "run", "db.sock"))
        for name in ("run", "state", "spool", "log", "tmp"):
            os.mkdir(os.path.join(folder, name), 0o755)

    def daemon(self, *command):
        log = open(os.path.join(self.folder, "log", command[0] + ".out"), "w", encoding="utf-8")
        subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                         start_new_session=True, preexec_fn=die_with_parent)
        log.close()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def configure(self):
        facts = {"dir": self.folder, "host": socket.gethostname().split(".")[0],
                 "ports": free_ports(3), "cpus": os.cpu_count()}
        for name, text in (("slurm.conf", CONF), ("slurmdbd.conf", DATABASE_CONF)):
            with open(self.path(name), "w", encoding="ascii") as conf:
                os.fchmod(conf.fileno(), 0o600)
                conf.write(text.format(**facts))

    def start_database(self):
        data = "--datadir=" + self.path("db")
        run("mariadb-install-db", "--no-defaults", "--user=root", data, "--skip-test-db",
            "--auth-root-authentication-method=normal", stderr=subprocess.DEVNULL)
        self.daemon("mariadbd", "--no-defaults", "--user=root", data, "--skip-networking",
                    "--socket=" + self.env["MYSQL_UNIX_PORT"], "--innodb-buffer-pool-size=64M",
                    "--innodb-flush-log-at-trx-commit=0")
        wait_for("the database", lambda: os.path.exists(self.env["MYSQL_UNIX_PORT"]))
        run("mariadb", "--no-defaults", "--user=root", input=DATABASE, env=self.env)
        self.daemon("slurmdbd", "-D")
        wait_for("slurmdbd", lambda: self.says("sacctmgr", "-i", "add", "cluster", "auger"))

    def says(self, *command):
        """What it prints, or None: it failed."""
        done = subprocess.run(command, env=self.env, text=True, check=False, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else None

    def start(self):
        path = self.path
        self.configure()
        with open(path("munge.key"), "wb") as key:
            os.fchmod(key.fileno(), 0o600)
            key.write(os.urandom(1024))
        self.daemon("munged", "--foreground", "--force", "--key-file=" + path("munge.key"),
                    "--socket=" + path("run", "munge.sock"),
                    "--pid-file=" + path("run", "munged.pid"),
                    "--log-file=" + path("log", "munged.log"),
                    "--seed-file=" + path("munge.seed"), "--num-threads=2")
        wait_for("munge's socket", lambda: os.path.exists(path("run", "munge.sock")))
        self.start_database()
        self.daemon("slurmctld", "-D", "-f", path("slurm.conf"))
        self.daemon("slurmd", "-D", "-f", path("slurm.conf"))
        wait_for("the node", self.is_idle)

    def is_idle(self):
        return (self.says("sinfo", "-h", "-o", "%T") or "").strip() == "idle"

    def stop(self):
        for command in (["scancel", "--full", "--user=root"], ["scontrol", "shutdown"]):
            try:
                subprocess.run(command, env=self.env, check=False, timeout=10,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                pass

    def submit(self, script, folder):
        """The job's id, when it is over."""
        job = run("sbatch", "--parsable", script, cwd=folder, env=self.env).strip()
        wait_for("the end of job " + job, lambda: not run("squeue", "-h", "-j", job, env=self.env))
        return job


def make_world(folder):
    """What the array job needs: the program, a list of files, a folder for the results."""
    os.makedirs(os.path.join(folder, "results"))
    os.mkdir(os.path.join(folder, "corpus"))
    os.symlink(PIPELINE, os.path.join(folder, "pipeline"))
    shutil.copy(os.path.join(EXAMPLES, "array.sbatch"), folder)
    with open(os.path.join(folder, "corpus.txt"), "w", encoding="ascii") as names:
        for i in range(FILES):
            names.write("corpus/%d.txt\n" % i)
            with open(os.path.join(folder, "corpus", "%d.txt" % i), "w", encoding="ascii") as text:
                text.write(" ".join("word%d" % (k * 7919 % 4001) for k in range(30000 * (i % 3 + 1))))


def stages(folder, *options):
    return json.loads(run(AUGER, "stages", "results", "-f", "json", *options, cwd=folder))


def reduce_here(folder):
    """The same sums by other means: calls and wall seconds of each stage."""
    sums = {}
    for name in os.listdir(os.path.join(folder, "results")):
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, "results", name), encoding="utf-8") as lines:
                for record in map(json.loads, lines):
                    for row in record["profile"]["stages"]:
                        calls, wall = sums.get(row["stage"], (0, 0))
                        sums[row["stage"]] = (calls + row["calls"], wall + row["wall_s"])
    return sums


def check_sums(folder):
    got = stages(folder)
    assert got["records"] == FILES and got["files"] == TASKS, got
    want = reduce_here(folder)
    assert set(want) == {"read", "split", "classify", "classify.sort"}, want
    assert {row["stage"] for row in got["rows"]} == set(want), got
    for row in got["rows"]:
        calls, wall = want[row["stage"]]
        assert row["calls"] == calls and abs(row["wall_ns"] / 1e9 - wall) < 1e-6, (row, want)


def check_jobs(folder, job):
    rows = stages(folder, "--by", "job")["rows"]
    ids = {row["group"] for row in rows}
    assert ids == {"%s_%d" % (job, task) for task in range(TASKS)}, ids
    assert sum(row["records"] for row in rows if row["stage"] == "read") == FILES, rows


def write_accounts(folder, text):
    with open(os.path.join(folder, "sacct.txt"), "w", encoding="utf-8") as file:
        file.write(text)


def check_accounting(folder, cluster):
    """Slurm and the reports agree, task by task, also without its database. The tasks then have
    only the numbers of their own."""
    write_accounts(folder, run("sacct", "-c", "-P", "--format=JobID,State,Elapsed",
                               env=cluster.env, stderr=subprocess.DEVNULL))
    got = stages(folder, "--sacct", "sacct.txt")
    assert got["jobs"] == TASKS and got["jobs_in_doubt"] == 0, got
    assert all(row["state"] == "COMPLETED" and row["elapsed_ns"] is not None
               for row in got["rows"]), got


def check_lost(folder, cluster, job):
    """A task whose results are gone, as sacct with a database tells it."""
    lines = ["JobID|State|ElapsedRaw|MaxRSS"]
    with open(os.path.join(cluster.folder, "log", "jobcomp.txt"), encoding="utf-8") as file:
        for line in file:
            fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
            begin, end = (time.mktime(time.strptime(fields[key], "%Y-%m-%dT%H:%M:%S"))
                          for key in ("StartTime", "EndTime"))
            task = "%s_%s" % (fields["ArrayJobId"], fields["ArrayTaskId"])
            lines += ["%s|%s|%d|" % (task, fields["JobState"], end - begin),
                      "%s.batch|%s|%d|9000K" % (task, fields["JobState"], end - begin)]
    write_accounts(folder, "\n".join(lines) + "\n")
    os.remove(os.path.join(folder, "results", "4.jsonl"))
    got = stages(folder, "--sacct", "sacct.txt")
    lost = [row for row in got["rows"] if row["doubt"] == "no report"]
    assert got["jobs"] == TASKS and len(lost) == 1, got
    assert lost[0]["job"] == "%s_4" % job and lost[0]["max_rss_bytes"] == 9000 << 10, lost


def check_live(folder, cluster):
    """A job that Slurm had the time to measure, and sacct is asked for it. Its program ran many
    times, and only the last time left a report."""
    os.mkdir(os.path.join(folder, "long"))
    with open(os.path.join(folder, "long.sbatch"), "w", encoding="ascii") as script:
        script.write(LONG_JOB)
    job = cluster.submit("long.sbatch", folder)
    ask = lambda: json.loads(run(AUGER, "stages", "long", "--sacct", "live", "-f", "json",
                                 cwd=folder, env=cluster.env))
    wait_for("sacct's word of the end", lambda: ask()["rows"][0]["state"] == "COMPLETED")
    got = ask()
    row = got["rows"][0]
    assert got["jobs"] == 1 and row["job"] == job, got
    assert row["doubt"] == "much time in no report", got
    assert row["elapsed_ns"] >= 4e9 and row["max_rss_bytes"] > 1 << 20, row


def check_stat(folder, cluster):
    """What auger stat says of a command and what Slurm says of its step are of one size, or it is
    said why not."""
    program = ("import time\nheld = bytearray(b'x') * (90 << 20)\n"
               "while time.process_time() < 1.5: pass\ntime.sleep(3)\n")
    with open(os.path.join(folder, "hold.py"), "w", encoding="ascii") as file:
        file.write(program)
    with open(os.path.join(folder, "stat.sbatch"), "w", encoding="ascii") as script:
        script.write("#!/bin/sh\n#SBATCH --output=stat.log\n"
                     "exec %s stat -f json -o stat.json -- /usr/bin/python3 hold.py\n" % AUGER)
    job = cluster.submit("stat.sbatch", folder)
    ask = lambda: json.loads(run(AUGER, "stat", "--sacct", job, "-f", "json", "stat.json",
                                 cwd=folder, env=cluster.env))
    wait_for("sacct's word of the end", lambda: ask()["state"] == "COMPLETED")
    got = ask()
    rows = {row["field"]: row for row in got["rows"]}
    assert got["step"] == job + ".batch", got
    for field, most in (("ElapsedRaw", 1.6), ("UserCPU", 1.3), ("TotalCPU", 1.3), ("MaxRSS", 1.4)):
        assert 1 / most < rows[field]["ratio"] < most, rows[field]
    assert rows["MaxRSS"]["slurm"] > 90 << 20, rows["MaxRSS"]
    assert rows["CPUTimeRAW"]["ours"] > 0 and rows["AllocCPUS"]["ratio"] == 1, rows
    for row in got["rows"]:
        apart = row["ratio"] and abs(row["ratio"] - 1) > 0.5 and abs(row["slurm"] - row["ours"]) > 1e9
        assert not apart or row["why"], row
        apart = row["cgroup"] is not None and abs(row["cgroup"] - row["ours"]) > 0.05 * max(row["cgroup"], row["ours"])
        assert not apart or row["cgroup_why"], row
    alone = json.loads(run(AUGER, "stat", "--sacct", job + ".batch", "-f", "json", env=cluster.env))
    assert alone["rows"][0]["slurm"] is not None and alone["rows"][0]["ours"] is None, alone


OUTPUT_JOB = """#!/bin/sh
#SBATCH --output={folder}/old/slurm-%j.out
#SBATCH --chdir={folder}/old
i=0
while [ ! -e ../stop ]; do
	echo "line $i"
	i=$((i + 1))
	sleep 0.01
done
echo "lines $i"
"""


def move_job(cluster, folder, *options):
    """A batch job whose output is on OLD: auger moves it while it runs. Returns what auger printed."""
    for name in ("old", "new"):
        os.makedirs(os.path.join(folder, name))
        run("mount", "-t", "tmpfs", "none", os.path.join(folder, name))
    with open(os.path.join(folder, "output.sbatch"), "w", encoding="ascii") as script:
        script.write(OUTPUT_JOB.format(folder=folder))
    job = run("sbatch", "--parsable", "output.sbatch", cwd=folder, env=cluster.env).strip()
    output = os.path.join(folder, "old", "slurm-%s.out" % job)
    wait_for("output", lambda: os.path.exists(output) and os.path.getsize(output) > 200)
    moved = run(AUGER, "relocate", "--job", job, "--from", "old", "--to", "new", "-f", "json", *options, cwd=folder,
                env=cluster.env)
    output = os.path.join(folder, "new", "slurm-%s.out" % job)
    size = os.path.getsize(output)
    wait_for("more output", lambda: os.path.getsize(output) > size + 200)
    open(os.path.join(folder, "stop"), "w", encoding="ascii").close()
    wait_for("the end of job " + job, lambda: not run("squeue", "-h", "-j", job, env=cluster.env))
    with open(output, encoding="ascii") as file:
        lines = file.read().splitlines()
    assert lines[-1] == "lines %d" % (len(lines) - 1), lines[-3:]
    assert lines[:-1] == ["line %d" % i for i in range(len(lines) - 1)], "lines are missing, or there twice"
    return json.loads(moved)


def check_move(cluster, folder):
    """A batch job's output moves: without slurmstepd, which is named, and with it."""
    for number, options in enumerate(([], ["--enter-slurmstepd"])):
        place = os.path.join(folder, "move%d" % number)
        try:
            notes = [row for row in move_job(cluster, place, *options)["rows"]
                     if row["process"] == "slurmstepd" and row["state"] == "note"]
            assert bool(notes) == (not options), notes
            run("umount", os.path.join(place, "old"))  # the step has ended
        finally:
            for name in ("old", "new"):
                subprocess.run(["umount", "-l", os.path.join(place, name)], check=False, stderr=subprocess.DEVNULL)


def check_prerequisites():
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise Skip("no " + ", ".join(missing))
    if os.geteuid() != 0:
        raise Skip("Slurm of its own needs root")
    if LIBC.prctl(36, 1, 0, 0, 0) != 0:  # PR_SET_CHILD_SUBREAPER
        raise Skip("orphans cannot be waited for")


def report(number, name, check, *args):
    try:
        check(*args)
        print("ok %d - %s" % (number, name))
        return True
    except (AssertionError, subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
        print("%s: %r" % (name, error), file=sys.stderr)
        print("not ok %d - %s" % (number, name))
        return False


def run_array(cluster, folder):
    os.mkdir(folder)
    make_world(folder)
    job = cluster.submit("array.sbatch", folder)
    good = report(1, "sums", check_sums, folder)
    good &= report(2, "jobs", check_jobs, folder, job)
    good &= report(3, "accounting", check_accounting, folder, cluster)
    good &= report(4, "lost", check_lost, folder, cluster, job)
    good &= report(5, "live", check_live, folder, cluster)
    good &= report(6, "stat", check_stat, folder, cluster)
    good &= report(7, "move", check_move, cluster, folder)
    print("1..7")
    return good


def show_logs(folder):
    for root, _, names in os.walk(os.path.join(folder, "log")):
        for name in names:
            if name.endswith((".log", ".out")):
                with open(os.path.join(root, name), encoding="utf-8", errors="replace") as log:
                    for line in log.readlines()[-8:]:
                        print("%s: %s" % (name, line.rstrip()), file=sys.stderr)


def main():
    # what a user, an outer job or Meson has set is none of this cluster's
    for name in [n for n in os.environ
                 if n.startswith(("SLURM_", "SBATCH_", "AUGER_", "MALLOC_"))]:
        del os.environ[name]
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    try:
        check_prerequisites()
    except Skip as reason:
        print("1..0 # SKIP %s" % reason)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="auger-slurm-")
    cluster = Cluster(folder)
    try:
        try:
            cluster.start()
        except TimeoutError as error:
            show_logs(folder)
            print("1..0 # SKIP Slurm does not start here: %s" % error)
            return 0
        try:
            good = run_array(cluster, os.path.join(folder, "work"))
        except (subprocess.SubprocessError, OSError) as error:
            print("array: %r" % error, file=sys.stderr)
            good = False
        if not good:
            show_logs(folder)
        return 0 if good else 1
    finally:
        cluster.stop()
        end_children()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
