#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""doctor.py TOOL FOLDER [CASE...]: what auger doctor says, against what is then tried in another way."""

import csv
import io
import json
import os
import re
import shutil
import subprocess

import live
from live import Skip

STATES = ("works", "partly", "fails")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
          "--bounding-set=-all")


def rows(bench, *prefix, env=None):
    """The findings by check."""
    done = subprocess.run([*prefix, bench.tool, "doctor", "-f", "json"], capture_output=True,
                          text=True, timeout=60, check=False, env=env)
    return {row["check"]: row for row in json.loads(done.stdout)["rows"]}


def sysctl(name):
    """A number of the kernel, None where it has none."""
    try:
        with open(f"/proc/sys/kernel/{name}", encoding="ascii") as file:
            return int(file.read())
    except OSError:
        return None


def states(bench):
    """Each check has one of three states, and what does not work a remedy."""
    for row in rows(bench).values():
        bench.check(row["state"] in STATES and row["weight"] in ("needed", "used", "extra"), row)
        bench.check(row["found"] and row["serves"], row)
        bench.check((row["state"] == "works") == (row["remedy"] is None), row)


def formats(bench):
    """CSV, JSON and the table of -v have the same rows."""
    told = rows(bench)
    text = bench.run(bench.tool, "doctor", "-f", "csv").stdout
    table = bench.run(bench.tool, "doctor", "-v").stdout
    for row in csv.DictReader(io.StringIO(text)):
        want = told[row["check"]]
        bench.equal(row, {key: value or "" for key, value in want.items()}, row["check"])
        bench.check(re.search(f"^{re.escape(row['check'])} +{row['state']} ", table, re.M), table)


def tasks(bench):
    """The table has a row a task: as good as its checks that count, whose remedies are below."""
    for prefix in ((), ("prlimit", "--memlock=0:0", "--nofile=512:512"), NOBODY if os.geteuid() == 0 else ()):
        bench.check(*one_table(bench, prefix))


def one_table(bench, prefix):
    tool = bench.tool
    if prefix is NOBODY: # who may not read the folder of the build
        tool = bench.path("auger")
        shutil.copy(bench.tool, tool)
    done = subprocess.run([*prefix, tool, "doctor"], capture_output=True, text=True, timeout=60, check=False)
    told = subprocess.run([*prefix, tool, "doctor", "-f", "json"], capture_output=True, text=True, timeout=60, check=False)
    want, remedies = {}, []
    for row in json.loads(told.stdout)["rows"]:
        state = STATES.index(row["state"])
        if row["weight"] == "extra":
            continue
        if row["weight"] == "used":
            state = min(state, STATES.index("partly"))
        want[row["task"]] = max(want.get(row["task"], 0), state)
        if row["remedy"]:
            remedies.append(f"# {row['check']}: {row['remedy']}")
    lines = done.stdout.splitlines()
    rows_ = [re.match("(.*?) +(works|partly|fails) ", line) for line in lines[1:] if not line.startswith("#")]
    got = {r.group(1): STATES.index(r.group(2)) for r in rows_ if r}
    can_record = want["record"] != STATES.index("fails")
    return (len(rows_) == 8 and got == want and [line for line in lines if line.startswith("#")] == remedies and
            done.returncode == told.returncode == (0 if can_record else 1)), (prefix, done, told.stdout)


def recording(bench):
    """What works can be done."""
    told = rows(bench)
    for check, options in (("cpu sampling", []), ("whole machine", ["-a"]),
                           ("tracepoints", ["-e", "sched:sched_switch"]),
                           ("hardware counters", ["-e", "instructions"]),
                           ("off-CPU stacks", ["--off-cpu"])):
        done = subprocess.run(
            [bench.tool, "record", *options, "-o", bench.path("try.pb.gz"), "--", "true"],
            capture_output=True, text=True, timeout=60, check=False)
        bench.equal(told[check]["state"] != "fails", done.returncode == 0,
                    f"{check}: {done.stderr}")


def no_tracefs(bench):
    """Tracepoints need no mount by somebody else."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    script = 'umount -l /sys/kernel/tracing 2>/dev/null; exec "$@"'
    alone = ("unshare", "-m", "sh", "-c", script, "-")
    told = rows(bench, *alone)
    bench.equal(told["tracepoints"]["state"], rows(bench)["tracepoints"]["state"], "tracepoints")
    done = subprocess.run([*alone, bench.tool, "record", "-e", "sched:sched_switch", "-o", bench.path("try.pb.gz"), "--", "sleep", "0.1"],
                          capture_output=True, text=True, timeout=60, check=False)
    bench.equal(done.returncode == 0, told["tracepoints"]["state"] != "fails", done.stderr)


def unprivileged(bench):
    """Another user is told the kernel's knobs."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    copy = bench.path("auger")
    subprocess.run(["cp", bench.tool, copy], check=True)
    done = subprocess.run([*NOBODY, copy, "doctor", "-f", "json"], capture_output=True, text=True,
                          timeout=60, check=False)
    told = {row["check"]: row for row in json.loads(done.stdout)["rows"]}
    paranoid = sysctl("perf_event_paranoid")
    bench.equal(told["whole machine"]["state"], "fails" if paranoid > 0 else "works", "machine")
    if paranoid > 0:
        bench.check("kernel.perf_event_paranoid=0" in told["whole machine"]["remedy"], told)
    want = "works" if paranoid < 2 else "partly" if paranoid == 2 else "fails"
    for check in ("cpu sampling", "off-CPU stacks"):
        bench.equal(told[check]["state"], want, check)
    if sysctl("unprivileged_bpf_disabled"):
        bench.equal(told["BPF"]["state"], "fails", "BPF")
    if sysctl("yama/ptrace_scope"):
        bench.check("ptrace_scope" in told["ptrace"]["found"], told["ptrace"])
    with open("/proc/mounts", encoding="utf-8") as file:
        bench.check("auger /proc fuse " not in file.read(), "a mount was left")


def limits(bench):
    """The limit of open files is the one that holds."""
    told = rows(bench, "prlimit", "--nofile=512:512")["open files"]
    bench.equal((told["state"], told["found"]), ("partly", "at most 512 may be open"), "512")


def program(bench, name, words):
    """A program of Slurm's on a PATH of its own."""
    path = bench.path(name)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{words}\n")
    os.chmod(path, 0o755)


def slurm(bench):
    """Each answer that Slurm's programs may give."""
    env = {**os.environ, "PATH": f"{bench.folder}:/usr/bin:/bin"}
    env.pop("SLURM_JOB_ID", None)
    up = "echo 'Slurmctld(primary) at node1 is UP'"
    for ping, sacct, job, state, words in (
            (up, "exit 0", "", "works", "this is no job"),
            (up, "exit 0", "42", "works", "this is job 42"),
            (up, "exit 1", "", "partly", "sacct has no accounting"),
            (up, "sleep 60", "", "partly", "no answer in 5 s"),
            ("echo 'Slurmctld(primary) at node1 is DOWN'; exit 1", "exit 0", "", "fails",
             "no slurmctld answers")):
        program(bench, "scontrol", ping)
        program(bench, "sacct", sacct)
        told = rows(bench, env={**env, "SLURM_JOB_ID": job} if job else env)["Slurm"]
        bench.equal(told["state"], state, f"{ping}, {sacct}")
        bench.check(words in told["found"], told)


if __name__ == "__main__":
    live.main([states, formats, tasks, recording, no_tracefs, unprivileged, limits, slurm])
