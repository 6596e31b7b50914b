#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""inherited.py TOOL WORKLOADS [CASE...]: what a parent may leave to auger: signals, closed descriptors, tight limits.

Each command works, or prints one line and exits with 1 or 2. A program that it starts finds everything as auger found it.
"""

import fcntl
import os
import resource
import signal
import struct
import subprocess
import sys
import termios
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import live  # noqa: E402

MIB = 1 << 20
PROGRAM = ("{state}", "{file}", "60")
RUNNERS = {
    "record": ("record", "-o", "{out}", "--", *PROGRAM),
    "record --off-cpu": ("record", "--off-cpu", "-o", "{out}", "--", *PROGRAM),
    "stat": ("stat", "-f", "json", "-o", "{out}", "--", *PROGRAM),
    "syscalls": ("syscalls", "-f", "json", "-o", "{out}", "--", *PROGRAM),
    "syscalls bpf": ("syscalls", "--method", "bpf", "-f", "json", "-o", "{out}", "--", *PROGRAM),
    "syscalls perf": ("syscalls", "--method", "perf", "-f", "json", "-o", "{out}", "--", *PROGRAM),
    "syscalls ptrace": ("syscalls", "--method", "ptrace", "-f", "json", "-o", "{out}", "--", *PROGRAM),
    "stages run": ("stages", "run", "--to", "profile", "-o", "{out}", "--", *PROGRAM),
    "cache run": ("cache", "run", "--target", "{tree}", "--job-dir", "{job}", "--", *PROGRAM),
    "top": ("top", "--batch", "--", *PROGRAM),
    "stat --scale": ("stat", "--scale", "1,2", "-r", "1", "--profiles", "{job}", "--", *PROGRAM),
}
READERS = {
    "report": ("report", "{profile}"),
    "flame": ("flame", "{profile}", "-o", "{out}"),
    "convert": ("convert", "{profile}", "--to", "folded", "-o", "{out}"),
    "merge": ("merge", "{profile}", "{profile}", "-o", "{out}"),
    "annotate": ("annotate", "spin_one", "{profile}"),
    "doctor": ("doctor",),
}


def ignored_child():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def all_blocked():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def closed(*fds):
    def act():
        for fd in fds:
            os.close(fd)
    return act


def limited(which, soft, hard=None):
    def act():
        resource.setrlimit(which, (soft, hard or soft))
    return act


class Run:
    """One command under one condition."""

    def __init__(self, bench, name, act, words):
        self.bench = bench
        self.label = f"{name}, {words}"
        self.folder = bench.path(self.label.replace(" ", "_").replace("/", "_"))
        os.mkdir(self.folder)
        self.fields = {"state": bench.workload("hosts/state"), "profile": bench.path("p.pb.gz"),
                       "tree": bench.path("tree"), "job": f"{self.folder}/job",
                       "file": f"{self.folder}/state", "out": f"{self.folder}/out"}
        self.act = act

    def run(self, *command):
        """The exit status, and what was written to standard error."""
        words = [word.format(**self.fields) for word in command]
        with open(f"{self.folder}/err", "wb+") as err, open(f"{self.folder}/stdout", "wb+") as out:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=60,
                                  check=False, preexec_fn=self.act, cwd=self.folder, close_fds=True)
            err.seek(0)
            return done.returncode, err.read().decode()

    def state(self, name="file"):
        """What the program found; None: it was not started."""
        try:
            with open(self.fields[name], encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return None


def baseline(bench, act, words):
    """What the program finds without auger."""
    run = Run(bench, "itself", act, words)
    run.run(*PROGRAM)
    return run.state()


def check_output(run):
    """Nothing but the output is in the output file."""
    out = run.fields["out"]
    if not os.path.exists(out):
        return
    with open(out, "rb") as file:
        text = file.read()
    run.bench.check(b"auger" not in text[:200] or text[:2] == b"\x1f\x8b" or text[:1] in b"<{", f"{run.label}: {text[:200]}")
    if text[:1] == b"<":
        xml.etree.ElementTree.fromstring(text)
    elif text[:2] == b"\x1f\x8b":
        run.bench.run(run.bench.tool, "report", out)


def one_line(run, name, status, words):
    """A failure is an exit status of 1 or 2, and one line that says why."""
    errors = [line for line in words.splitlines() if line.startswith(f"auger {name.split()[0]}")]
    run.bench.check(status in (1, 2) and len(errors) == 1, f"{run.label}: exit status {status}: {words}")


def inherited(run, name, want):
    """What the program found, if it was started, is what it finds without auger; stat --scale gives it no output."""
    got = run.state()
    if got and name == "stat --scale":
        got, want = ({line for line in text.splitlines() if not line.startswith("open: ")} for text in (got, want))
    run.bench.check(got in (None, want), f"{run.label}: the program found {got!r}, want {want!r}")


def try_all(bench, act, words, may_fail=(), may_end_with=()):
    """may_fail: these commands may say why not; may_end_with: these may lose their output, and have no place to say so."""
    if not os.path.exists(bench.path("p.pb.gz")):
        os.mkdir(bench.path("tree"))
        bench.record(bench.workload("shares"), "100")
    want = baseline(bench, act, words)
    for name, command in {**RUNNERS, **READERS}.items():
        run = Run(bench, name, act, words)
        status, text = run.run(bench.tool, *command)
        inherited(run, name, want)
        if os.environ.get("SHOW"):
            print(f"# {run.label}: {status} {text[:300]!r}", file=sys.stderr)
        if status == (7 if name in RUNNERS else 0):
            check_output(run)
        elif name in may_end_with:
            bench.equal(status, 1, run.label)
        elif name in may_fail:
            one_line(run, name, status, text)
        else:
            bench.check(False, f"{run.label}: exit status {status}: {text}")


def child_signal_ignored(bench):
    try_all(bench, ignored_child, "SIGCHLD ignored")


def signals_blocked(bench):
    try_all(bench, all_blocked, "all signals blocked")


def input_closed(bench):
    try_all(bench, closed(0), "0 closed")


def output_closed(bench):
    try_all(bench, closed(1), "1 closed", may_end_with=("top", "report", "annotate", "doctor"))


def errors_closed(bench):
    try_all(bench, closed(2), "2 closed", may_end_with=("stat --scale",))


def all_closed(bench):
    try_all(bench, closed(0, 1, 2), "0, 1 and 2 closed",
            may_end_with=("top", "stat --scale", "report", "annotate", "doctor"))


def few_files(bench):
    try_all(bench, limited(resource.RLIMIT_NOFILE, 12), "12 files",
            may_fail=set(RUNNERS) - {"syscalls ptrace", "stages run"})


def few_files_at_first(bench):
    try_all(bench, limited(resource.RLIMIT_NOFILE, 12, 4096), "12 files of 4096")


def little_memory(bench):
    try_all(bench, limited(resource.RLIMIT_AS, 300 * MIB), "300 MiB")
    try_all(bench, limited(resource.RLIMIT_AS, 64 * MIB), "64 MiB", may_fail=set(RUNNERS) - {"record", "record --off-cpu"})
    try_all(bench, limited(resource.RLIMIT_AS, 24 * MIB), "24 MiB", may_fail={**RUNNERS, **READERS})


def memory_for_samples(bench):
    """Less and less memory: what is sampled is kept as long as there is some, without names if need be."""
    kept = 0
    for mib in (48, 40, 36, 32, 30, 28):
        run = Run(bench, "record --off-cpu", limited(resource.RLIMIT_AS, mib * MIB), f"{mib} MiB")
        status, text = run.run(bench.tool, *RUNNERS["record --off-cpu"])
        if status == 7:
            kept += 1
            report = bench.report(output=run.fields["out"])
            bench.check(report["samples"] > 20, f"{run.label}: {report['samples']} samples: {text}")
        else:
            one_line(run, "record", status, text)
    bench.check(kept >= 3, f"{kept} were kept")


def pager_ends(bench):
    """The end of a pager is seen, whatever our parent does with SIGCHLD."""
    bench.record(bench.workload("shares"), "100")
    control, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 2, 80, 0, 0))
    pid = os.fork()
    if pid == 0:
        ignored_child()
        os.login_tty(terminal)
        os.execve(bench.tool, ["auger", "report", "--tree", bench.path("p.pb.gz")],
                  {"PAGER": "head -n 2", "PATH": os.environ["PATH"], "TERM": "dumb"})
    os.close(terminal)
    text = b""
    while True:
        try:
            text += os.read(control, 4096)
        except OSError:
            break
    bench.equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "exit status")
    bench.check(text.count(b"\n") == 2, text)


def options_end(bench):
    """Behind the first word that is no option all options are the command's."""
    os.mkdir(bench.path("tree"))
    for name, command in RUNNERS.items():
        run = Run(bench, name, None, "options of the command")
        begin = command[:command.index("--")]
        status, text = run.run(bench.tool, *begin, "sh", "-c", 'echo "$@" >>{file}; sleep 0.05', "-n", "5", "-o", "x", "--help", "-v")
        bench.equal(status, 0, f"{run.label}: {text}")
        words = (run.state() or "").splitlines()
        bench.equal(set(words), {"5 -o x --help -v"}, run.label)


if __name__ == "__main__":
    live.main([child_signal_ignored, signals_blocked, input_closed, output_closed, errors_closed, all_closed, few_files,
               few_files_at_first, little_memory, memory_for_samples, pager_ends, options_end])
