#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stage library in programs: the environment, the heap counter, ends of all kinds, languages."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import live  # noqa: E402

COUNTER = os.environ["AUGER_TEST_COUNTER"]
EXAMPLES = os.environ["AUGER_TEST_EXAMPLES"].split(":")


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AUGER_", "SLURM_"))}
    return {**kept, **more}


def work(bench, mode, program="stage_work", **env):
    """A run of the workload: what it printed, and its reports."""
    out = bench.path("out.jsonl")
    if os.path.exists(out):
        os.unlink(out)
    done = subprocess.run([bench.workload(program), mode], capture_output=True, text=True,
                          env=environment(**{"AUGER_STAGES_OUT": out, **env}), timeout=60,
                          cwd=bench.folder, check=False)
    bench.equal(done.returncode, 0, f"status of {mode}")
    bench.equal(done.stderr, "", f"words of {mode}")
    reports = []
    if os.path.exists(out):
        with open(out, encoding="utf-8") as lines:
            reports = [json.loads(line) for line in lines]
    return done.stdout, reports


def rows(report):
    return {row["stage"]: row for row in report["stages"]}


def peaks(bench, mode, **env):
    said, reports = work(bench, mode, LD_PRELOAD=COUNTER, **env)
    got = rows(reports[0])
    for line in said.splitlines():
        stage, peak, delta = line.split()
        bench.check(abs(got[stage]["heap_kb_peak_max"] - int(peak)) <= 40,
                    f"{stage}: peak {got[stage]['heap_kb_peak_max']}, want {peak}")
        bench.check(abs(got[stage]["heap_kb_delta"] - int(delta)) <= 40,
                    f"{stage}: delta {got[stage]['heap_kb_delta']}, want {delta}")
    return reports[0], got


def heap_peaks_nest(bench):
    """The windows of parents contain their children's."""
    report, got = peaks(bench, "heap")
    bench.equal(report["heap_source"], "libauger-count", "source")
    bench.check("exact" in report["heap_peak_source"], "how exact the peaks are")
    bench.equal(got["parent"]["allocs"], 5, "blocks made")
    peaks(bench, "heap", AUGER_STAGES="time")


def heap_peak_of_threads(bench):
    _, got = peaks(bench, "threads")
    bench.equal(got["hold"]["threads"], 2, "threads")


def heap_functions(bench):
    peaks(bench, "list")


def heap_unknown(bench):
    """Without the counter its columns are null, not 0."""
    _, reports = work(bench, "heap")
    for key in ("heap_kb_delta", "heap_kb_peak_max", "allocs", "py_kb_delta", "py_kb_peak_max"):
        bench.equal(rows(reports[0])["parent"][key], None, key)
    _, reports = work(bench, "heap", AUGER_STAGES="time")
    for key in ("cpu_s", "rss_kb_delta", "minor_faults", "read_kb", "rss_kb_peak"):
        bench.equal(rows(reports[0])["parent"][key], None, key)


def rss(bench):
    _, reports = work(bench, "rss")
    got = rows(reports[0])
    bench.check(abs(got["touch"]["rss_kb_delta"] - 65536) < 400, f"grown: {got['touch']}")
    bench.check(abs(got["give"]["rss_kb_delta"] + 65536) < 400, f"given back: {got['give']}")
    bench.check(got["touch"]["rss_kb_peak"] >= 65536, "peak")
    bench.equal(got["touch"]["rss_kb_peak_exact"], True, "the stage that made the peak knows it")
    late = reports[0]["rss_kb_peak"] - got["touch"]["rss_kb_peak"]  # the kernel counts in batches
    bench.check(abs(late) < 400, f"the process' peak: {late} KiB more")


def peak_before_exec(bench):
    """What the program was before its exec, a copy of this one, is no part of its peak."""
    ballast = bytearray(b"x") * (256 << 20)
    _, reports = work(bench, "rss")
    bench.check(reports[0]["rss_kb_peak"] < len(ballast) >> 10, "the process' peak")


def read_and_written(bench):
    _, reports = work(bench, "io")
    got = rows(reports[0])["io"]
    bench.equal((got["read_kb"], got["write_kb"]), (1024, 1024), "KiB")


def levels(bench):
    """The program prints the same at each, and off leaves nothing."""
    said, reports = work(bench, "results")
    bench.equal(rows(reports[0])["all.step"]["calls"], 20000, "calls")
    for level in ("time", "full"):
        again, reports = work(bench, "results", AUGER_STAGES=level, LD_PRELOAD=COUNTER)
        bench.equal(again, said, level)
        bench.equal(reports[0]["level"], level, "level")
    again, reports = work(bench, "results", AUGER_STAGES="off")
    bench.equal((again, reports), (said, []), "off")
    again, reports = work(bench, "results", AUGER_STAGES_OUT="")
    bench.equal((again, reports), (said, []), "not asked for")


def place(bench):
    out = bench.path("%h.%r.%j.%a.jsonl")
    work(bench, "io", AUGER_STAGES_OUT=out, PMI_RANK="3", SLURM_JOB_ID="77",
         SLURM_ARRAY_TASK_ID="5", SLURM_ARRAY_JOB_ID="70")
    with open(bench.path(f"{os.uname().nodename}.3.77.5.jsonl"), encoding="utf-8") as lines:
        report = json.loads(lines.read())
    got = [report[key] for key in ("rank", "slurm_job_id", "slurm_array_job_id",
                                   "slurm_array_task_id", "slurm_step_id", "program")]
    bench.equal(got, [3, 77, 70, 5, None, "stage_work"], "place")


def forks(bench):
    """Each process writes what it did itself."""
    _, reports = work(bench, "fork")
    labels = sorted(tuple(rows(report)) for report in reports)
    bench.equal(labels, [("outer",), ("outer.child",)], "labels")
    bench.check(reports[0]["pid"] != reports[1]["pid"], "pids")


def killed(bench):
    """SIGTERM: the report first, then what the program wants."""
    for mode, status, stages in (("wait", -signal.SIGTERM, 1), ("handled", 7, 1), ("grown", 7, 51)):
        out = bench.path(mode + ".jsonl")
        env = {"AUGER_STAGES_OUT": out, "AUGER_STAGES_SIGTERM": "1"}
        if status == 7:
            env = {"WORK_OUT": out}
        child = subprocess.Popen([bench.workload("stage_work"), mode], stdout=subprocess.PIPE,
                                 text=True, env=environment(**env))
        with child:
            child.stdout.readline()
            child.send_signal(signal.SIGTERM)
            bench.equal(child.wait(timeout=20), status, mode)
        with open(out, encoding="utf-8") as lines:
            report, = filter(None, map(json.loads, lines))  # that of the end replaces the other
        bench.equal(rows(report)["waiting"]["open"], 1, mode)
        bench.equal(len(report["stages"]), stages, mode)


def daemon(bench):
    """It has changed its folder and closed all descriptors, also those that the library reads."""
    _, reports = work(bench, "daemon", AUGER_STAGES_OUT="out.jsonl")
    bench.equal(list(rows(reports[0])), ["outer", "outer.inner", "outer.inner.twice"], "stages")
    grown = rows(reports[0])["outer.inner.twice"]["rss_kb_delta"]
    bench.check(1024 <= grown < 1400, f"RSS: {grown}")


def blind(bench):
    """Without /proc its columns are null, not 0."""
    said, _ = work(bench, "blind", AUGER_STAGES_OUT="")
    report = json.loads(said)
    row = rows(report)["work"]
    for key in ("rss_kb_delta", "read_kb", "write_kb"):
        bench.equal(row[key], None, key)
    bench.equal(row["rss_kb_peak"] is None, row["rss_kb_peak_exact"] is None, "peak")
    bench.equal((report["rss_source"], report["io_source"], report["rss_kb_now"]),
                (None, None, None), "sources")
    bench.equal(report["faults_source"], "getrusage", "source")
    bench.check(row["minor_faults"] >= 256 and row["cpu_s"] is not None, "getrusage()")


def no_reader(bench):
    """A FIFO that nobody reads."""
    out = bench.path("fifo")
    os.mkfifo(out)
    done = subprocess.run([bench.workload("stage_work"), "io"], capture_output=True, text=True,
                          env=environment(AUGER_STAGES_OUT=out), timeout=60, check=False)
    bench.equal((done.returncode, done.stderr), (0, "auger: cannot write the report of stages: "
                f"'{out}': No such device or address\n"), "status and words")


def large_file(bench):
    """The limit of the file size."""
    out = bench.path("large.jsonl")
    done = subprocess.run(["prlimit", "--fsize=100", bench.workload("stage_work"), "results"],
                          capture_output=True, text=True, env=environment(AUGER_STAGES_OUT=out),
                          check=False)
    bench.equal((done.returncode, done.stderr), (0, "auger: cannot write the report of stages: "
                f"'{out}': File too large\n"), "status and words")


def setuid(bench):
    """The caller of a program with its owner's rights does not choose a file for it to write."""
    if os.getuid() != 0 or os.statvfs(bench.folder).f_flag & os.ST_NOSUID:
        raise live.Skip("needs root, and a place for setuid programs")
    program = bench.path("setuid")
    shutil.copy(bench.workload("stage_work_static"), program)
    os.chmod(program, 0o4755)
    os.chmod(bench.folder, 0o755)
    out = bench.path("setuid.jsonl")
    done = subprocess.run([program, "results"], capture_output=True, text=True, user=65534,
                          env=environment(AUGER_STAGES="full", AUGER_STAGES_OUT=out), check=False)
    bench.equal((done.returncode, done.stderr), (0, ""), "status and words")
    bench.check(not os.path.exists(out), "a file of the owner")


def unwritable(bench):
    for program in ("stage_work", "stage_work_static"):
        done = subprocess.run([bench.workload(program), "results"], capture_output=True, text=True,
                              env=environment(AUGER_STAGES_OUT="/proc/nowhere/x"), check=False)
        bench.equal(done.returncode, 0, "status")
        bench.equal(done.stderr, "auger: cannot write the report of stages: '/proc/nowhere/x': "
                    "No such file or directory\n", "words")
    done = subprocess.run([bench.workload("stage_work"), "io"], capture_output=True, text=True,
                          env=environment(AUGER_STAGES="loud"), check=False)
    bench.equal(done.stderr, "auger: AUGER_STAGES is off, time or full: 'loud': off\n", "words")


def archive(bench):
    """libauger.a, in a program that has functions by the names of those inside."""
    said, reports = work(bench, "results", program="stage_work_static")
    bench.equal(rows(reports[0])["all.step"]["calls"], 20000, "calls")
    bench.equal(said, work(bench, "results")[0], "results")
    peaks(bench, "heap")


def profile(bench):
    """As a profile: the tool reads it, and the values are a stage's own."""
    out = bench.path("stages.pb.gz")
    _, _ = work(bench, "heap", AUGER_STAGES_OUT=out, LD_PRELOAD=COUNTER)
    with gzip.open(out) as data:
        bench.check(b"alloc_space" in data.read(), "gzip")
    for kind, want in (("calls", {"parent": 1, "child": 1, "bigchild": 1, "freer": 1}),
                       ("alloc_space", {"child": 1 << 20, "bigchild": 20 << 20,
                                        "parent": 13 << 20, "freer": 2 << 20})):
        report = bench.report("--value", kind, output=out)
        got = {row["function"]: row["self"] for row in report["rows"]}
        for name, value in want.items():
            bench.check(abs(got.get(name, -1) - value) <= value * 0.01, f"{kind} {name}: {got}")
    bench.run(bench.tool, "flame", out, "-o", bench.path("x.svg"))


def exceptions(bench):
    program = bench.workload("thrower")
    if not os.path.exists(program):
        raise live.Skip("no C++ compiler")
    done = bench.run(program)
    report = json.loads(done.stdout)
    got = rows(report)
    bench.equal(got["catch.macro.object.macro.object"]["calls"], 100, "calls")
    bench.equal(got["named"]["calls"], 1, "by an auger_name")
    bench.equal((report["errors"], report["input"]), (0, "exceptions"), "report")


def examples(bench):
    """Those of C, C++ and Fortran; and auger stages reads them."""
    want = {"pipeline": "classify.count", "stage_threads": "solve.block", "heat": "step.flow"}
    for program in EXAMPLES:
        done = bench.run(program)
        with open(bench.path("x.jsonl"), "w", encoding="utf-8") as lines:
            lines.write(done.stdout)
        report = json.loads(done.stdout.splitlines()[-1])
        report = report.get("profile", report)
        stage = want[os.path.basename(program)]
        bench.check(stage in rows(report), f"{program}: {list(rows(report))}")
        bench.equal(report["errors"], 0, program)
        bench.check(stage in bench.run(bench.tool, "stages", "x.jsonl").stdout, program)
        off = subprocess.run([program], env=environment(AUGER_STAGES="off"), capture_output=True,
                             text=True, check=False)
        bench.equal(off.returncode, 0, "off")
        bench.check('"stages"' not in off.stdout, "off")


live.main([heap_peaks_nest, heap_peak_of_threads, heap_functions, heap_unknown, rss,
           peak_before_exec, read_and_written, levels, place, forks, daemon, blind, killed,
           no_reader, large_file, setuid, unwritable, archive, profile, exceptions, examples])
