#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hosts.py TOOL WORKLOADS [CASE...]: machines and containers that lack what auger uses.

Each command gives a right result and says in one line what is missing, or says in one line why it fails. Namespaces and
seccomp filters stand for the machines: no setting of this one is changed.
"""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import live  # noqa: E402
from live import Skip  # noqa: E402

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
ALL = "bpf,perf_event_open,ptrace"
COMMANDS = {
    "record": ("record", "-o", "{dir}/r.pb.gz"),
    "off-cpu": ("record", "--off-cpu", "-o", "{dir}/o.pb.gz"),
    "stat": ("stat", "-f", "json", "-o", "{dir}/stat"),
    "syscalls": ("syscalls", "-f", "json", "-o", "{dir}/calls"),
    "top": ("top", "--batch"),
}
USUAL = re.compile(r"counts no cycles|samples of |^  |^next: ")  # of any host
FILTER = "a seccomp filter refuses "


class Host:
    """What stands before each command, and the tool at a place where everybody may run it."""

    def __init__(self, bench, *prefix):
        self.bench = bench
        self.tool = bench.path("auger")
        if not os.path.exists(self.tool):
            shutil.copy(bench.tool, self.tool)
            for name in ("shares", "hosts/state", "hosts/refuse"):
                shutil.copy(bench.workload(name), bench.path(os.path.basename(name)))
        self.prefix = [bench.path("refuse") if word == "refuse" else word for word in prefix]
        self.words = " ".join(prefix)
        self.program = (bench.path("shares"), "200")

    def run(self, *command):
        done = subprocess.run([*self.prefix, self.tool, *command], cwd=self.bench.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        lines = [line for line in done.stderr.splitlines() if not USUAL.search(line)]
        return done, lines

    def path(self, name):
        return self.bench.path(name)

    def expect(self, name, says="", status=0):
        """A command's exit status, and the one line that it prints: none where says is empty."""
        words = [word.format(dir=self.bench.folder) for word in COMMANDS[name]]
        for output in ("r.pb.gz", "o.pb.gz", "stat", "calls"):
            if os.path.exists(self.path(output)):
                os.remove(self.path(output))
        done, lines = self.run(*words, "--", *self.program)
        label = f"{self.words}: {name}"
        self.bench.equal(done.returncode, status, f"{label}: {done.stderr}")
        if status:
            self.bench.check(lines and re.search(says, lines[-1]), f"{label}: {lines}, want {says}")
            self.bench.check(sum(line.startswith("auger " + words[0]) for line in lines) == 1, f"{label}: {lines}")
        else:
            self.bench.check(len(lines) <= (2 if name == "off-cpu" else 1), f"{label}: {lines}")
            self.bench.check(re.search(says, "\n".join(lines)) if says else not lines, f"{label}: {lines}, want {says}")
            self.check_result(name, done, label)
        return done

    def check_result(self, name, done, label):
        """The result is of the program."""
        if name in ("record", "off-cpu"):
            shares = live.totals(self.bench.report(output=self.path("r.pb.gz" if name == "record" else "o.pb.gz")))
            self.bench.check(shares.get("main", 0) > 0.8 and abs(shares.get("beta", 0) - 0.57) < 0.12, f"{label}: {shares}")
        elif name == "stat":
            with open(self.path("stat"), encoding="utf-8") as file:
                self.bench.check("exit status" in file.read(), label)
        elif name == "syscalls":
            with open(self.path("calls"), encoding="utf-8") as file:
                calls = {row["call"]: row["calls"] for row in json.load(file)["rows"]}
            self.bench.check(calls.get("execve") == 1 and calls.get("write", 0) + calls.get("writev", 0) >= 1, f"{label}: {calls}")
        else:
            self.bench.check("alpha" in done.stdout, label)

    def doctor(self, **want):
        """Rows that do not work: FINDING; REMEDY by the row's name."""
        done, _ = self.run("doctor", "-f", "json")
        rows = {row["check"]: row for row in json.loads(done.stdout)["rows"]}
        for name, pattern in want.items():
            row = rows[name.replace("_", " ")]
            self.bench.check(row["state"] != "works" and re.search(pattern, f"{row['found']}; {row['remedy']}"),
                             f"{self.words}: doctor: {row}, want {pattern}")
        self.bench.equal(done.returncode, int(rows["cpu sampling"]["state"] == "fails"), f"{self.words}: doctor's exit status")


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def without_bpf(bench):
    need_root()
    for error in ("EPERM", "ENOSYS"):
        host = Host(bench, "refuse", error, "bpf")
        host.expect("record")
        host.expect("off-cpu", f"perf events, not BPF: .*{FILTER}bpf")
        host.expect("syscalls", f"by perf .*{FILTER}bpf")
        host.doctor(BPF=f"{FILTER}bpf.*docker run --cap-add BPF")


def without_perf(bench):
    need_root()
    for error in ("EPERM", "ENOSYS"):
        host = Host(bench, "refuse", error, "perf_event_open")
        for name in ("record", "off-cpu", "top"):
            host.expect(name, f"{FILTER}perf_event_open.*--cap-add PERFMON", 1)
        host.expect("stat")
        host.expect("syscalls", "by bpf")
        host.doctor(cpu_sampling=f"{FILTER}perf.*PERFMON", ring_memory=f"{FILTER}perf.*PERFMON")


def without_all(bench):
    """What Docker's own filter refused for years, for root of the container and for others."""
    need_root()
    for error in ("EPERM", "ENOSYS"):
        for user in ((), NOBODY):
            host = Host(bench, *user, "refuse", error, ALL)
            host.expect("record", f"{FILTER}perf_event_open", 1)
            host.expect("stat")
            host.expect("syscalls", f"{FILTER}ptrace.*--cap-add SYS_PTRACE", 1)
            host.doctor(ptrace=f"{FILTER}ptrace.*SYS_PTRACE", relocating="ptrace")


def without_types(bench):
    """A kernel without BTF."""
    need_root()
    host = Host(bench, "unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "-")
    host.expect("record")
    host.expect("off-cpu", "perf events, not BPF: .*CONFIG_DEBUG_INFO_BTF")
    host.expect("syscalls", "by perf .*CONFIG_DEBUG_INFO_BTF")
    host.doctor(BPF="; a kernel with CONFIG_DEBUG_INFO_BTF")


def old_kernel(bench):
    """Linux 5.4: no newer system calls, perf_event_open of 4.18, bpf of 5.4. What it refuses is not used, or replaced."""
    need_root()
    calls = os.path.join(bench.workloads, "..", "unit", "old_kernel")
    host = Host(bench, calls, "ENOSYS", bench.workload("hosts/old_perf"))
    if subprocess.run([*host.prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("no seccomp filter may pass calls to a process")
    host.expect("record")
    host.expect("off-cpu", "perf events, not BPF: .* cannot be loaded by Linux 5.4.0; needs Linux 5.11")
    host.expect("stat")
    host.expect("syscalls", "by (perf|ptrace) .*bpf: .*needs Linux 5.11")  # ptrace: no tracefs is mounted
    host.expect("top")
    host.doctor(BPF="cannot be loaded by Linux 5.4.0; Linux 5.11")
    for words in (("-e", "page-faults", "-c", "1"), ("-g", "fp"), ("-a", "-d", "0.3"), ("--raw", bench.path("perf.data"))):
        done, lines = host.run("record", "-o", bench.path("r.pb.gz"), *words, *(() if "-a" in words else ("--", *host.program)))
        bench.check(done.returncode == 0 and not lines, f"{words}: {done.returncode}: {done.stderr}")


def paranoid(bench):
    """perf_event_paranoid is 3, as Debian's kernel has it, no tracefs, and no rights."""
    need_root()
    three = bench.path("three")
    with open(three, "w", encoding="ascii") as file:
        file.write("3\n")
    script = f'mount --bind {three} /proc/sys/kernel/perf_event_paranoid && {{ umount -l /sys/kernel/tracing; ' \
             'umount -l /sys/kernel/debug; } 2>/dev/null; exec "$@"'
    host = Host(bench, "unshare", "-m", "sh", "-c", script, "-", *NOBODY, "refuse", "EACCES", "perf_event_open")
    for name in ("record", "top"):
        host.expect(name, "paranoid is 3; needs root, CAP_PERFMON", 1)
    host.expect("stat")
    host.expect("syscalls", "by ptrace .*bpf: .*needs root.*perf: .*tracefs")
    host.doctor(cpu_sampling="paranoid is 3; root", tracepoints="mount -t tracefs", BPF="root, or CAP_BPF")


def process_namespace(bench):
    need_root()
    host = Host(bench, "unshare", "-m", "-p", "-f", "--mount-proc")
    host.expect("record")
    host.expect("off-cpu", "perf events, not BPF: this container numbers its processes")
    host.expect("stat")
    host.expect("syscalls", "by perf .*other numbers in this container")
    host.expect("top")
    host.doctor(process_ends="outside of containers")


def user_namespace(bench):
    """Its root has no rights over the kernel, and no remedy says that it had."""
    need_root()
    host = Host(bench, *NOBODY, "unshare", "-U", "-r")
    if subprocess.run([*host.prefix, "true"], check=False).returncode:
        raise Skip("no user namespaces for others than root")
    host.expect("record", "only user code is sampled; root outside of this user namespace")
    host.expect("off-cpu", "needs root outside of this user namespace, or CAP_BPF")
    host.expect("stat")
    host.expect("syscalls", "by ptrace .*root outside of this user namespace")
    host.doctor(BPF="root outside", cpu_sampling="root outside", relocating="root outside")


def control_groups(bench):
    """A container that sees its own group of version 2 only."""
    need_root()
    script = 'umount -R -l /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
    host = Host(bench, "unshare", "-m", "-C", "sh", "-c", script, "-")
    if subprocess.run([*host.prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("no cgroup2 here")
    for name in ("record", "off-cpu", "stat", "top"):
        host.expect(name)
    host.expect("syscalls", "by bpf")


def other_library(bench):
    """Programs of the C library musl, static and not: its start has no unwinding tables."""
    need_root()
    if not shutil.which("musl-gcc"):
        raise Skip("needs musl-tools")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shares.c")
    for words in (["-static"], []):
        host = Host(bench)
        host.program = (bench.path("musl"), "200")
        host.words = f"musl {words}"
        bench.run("musl-gcc", "-O2", "-g", *words, "-o", host.program[0], source)
        for name in ("record", "off-cpu", "stat", "top"):
            host.expect(name)
        host.expect("syscalls", "by bpf")


def need_narrow(program):
    """A program of 32 bits that exits with status 5."""
    try:
        if subprocess.run([program], check=False, stdout=subprocess.DEVNULL).returncode == 5:
            return
    except OSError:
        pass
    raise Skip("the kernel runs no 32-bit programs")


def narrow_program(bench):
    """A program of 32 bits: its calls have numbers of their own, and its functions are named."""
    need_root()
    if os.uname().machine != "x86_64":
        raise Skip("only x86-64 has i386")
    program, source = bench.path("narrow"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "narrow.s")
    bench.run("as", "--32", source, "-o", bench.path("narrow.o"))
    bench.run("ld", "-m", "elf_i386", bench.path("narrow.o"), "-o", program)
    need_narrow(program)
    for method in ("bpf", "perf", "ptrace"):
        bench.run(bench.tool, "syscalls", "--method", method, "-f", "json", "-o", "calls", "--", "sh", "-c", f"{program}; true")
        with open(bench.path("calls"), encoding="utf-8") as file:
            calls = {row["call"]: row["calls"] for row in json.load(file)["rows"]}
        bench.equal({name: count for name, count in calls.items() if "32-bit" in name},
                    {"getpid (32-bit)": 3, "exit (32-bit)": 1}, f"{method}: calls of 32-bit code")
        bench.check("write" not in calls and calls["execve"] == 2, f"{method}: {calls}")
    trace = bench.run(bench.tool, "syscalls", "--trace", "--", program, status=5).stderr
    bench.check("exit (32-bit)(0x5," in trace, trace)
    for words in ((), ("--off-cpu",)):
        bench.record(*words, program, status=5)
        shares = live.totals(bench.report())
        bench.check(abs(shares.get("hot", 0) - 0.75) < 0.15 and abs(shares.get("cold", 0) - 0.25) < 0.15, shares)
    bench.run(bench.tool, "stat", program, status=5)
    bench.run(bench.tool, "top", "--batch", "--", program, status=5)


def narrow_stacks(bench):
    """Stacks of a program of 32 bits by its tables: without frame pointers, through a signal handler, of waits."""
    need_root()
    if os.uname().machine != "x86_64":
        raise Skip("only x86-64 has i386")
    program, source = bench.path("narrow"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "narrow_stacks.c")
    bench.run("gcc", "-m32", "-O2", "-fomit-frame-pointer", "-fno-pie", "-no-pie", "-nostdlib", "-static", "-o", program, source)
    need_narrow(program)
    for words in ((), ("--off-cpu",), ("--off-cpu", "--method", "perf")):
        done = bench.record(*words, program, status=5)
        shares = live.totals(bench.report())
        bench.check(min(shares.get("_start", 0), shares.get("begin", 0)) > 0.98 and "[broken]" not in shares, f"{words}: {shares}")
        bench.check(abs(shares.get("[vdso32]", 0) - 0.5) < 0.15 and abs(shares["handler"] - shares["[vdso32]"]) < 0.05, shares)
        bench.check("stacks: 100.0 % complete" in done.stderr or "stacks: 99" in done.stderr, done.stderr)
        if words:
            waits = live.totals(bench.report("--value", "offcpu"))
            bench.check(waits.get("rest", 0) > 0 and waits.get("_start", 0) > 0.95, f"{words}: {waits}")


def setuid_program(bench):
    """Others than root learn nothing of it, and are told so; traced, it would lose its rights."""
    need_root()
    host = Host(bench, *NOBODY[:4])
    os.chmod(host.tool, 0o755)
    program = bench.path("setuid")
    shutil.copy(bench.workload("hosts/state"), program)
    os.chmod(program, 0o4755)
    command = (program, bench.path("found"), "300")
    done, lines = host.run("record", "-o", bench.path("r.pb.gz"), "--", *command)
    bench.equal(done.returncode, 7, done.stderr)
    bench.check("it is setuid or unreadable, and only root may sample it" in done.stderr, done.stderr)
    done, lines = host.run("syscalls", "-o", bench.path("calls"), "--", *command)
    bench.check("setuid runs without its rights while it is traced" in done.stderr and len(lines) == 2, done.stderr)
    done, _ = host.run("stat", "-f", "json", "-o", bench.path("stat"), "--", *command)
    with open(bench.path("stat"), encoding="utf-8") as file:
        rows = {row["figure"]: row for row in json.load(file)["figures"]["rows"]}
    bench.check(rows["task-clock"]["value"] is None and "setuid" in rows["task-clock"]["detail"], rows["task-clock"])
    bench.run(bench.tool, "stat", "-f", "json", "-o", bench.path("stat"), "--", *command, status=7)
    with open(bench.path("stat"), encoding="utf-8") as file:
        rows = {row["figure"]: row for row in json.load(file)["figures"]["rows"]}
    bench.check(rows["task-clock"]["value"] > 2e8, rows["task-clock"])


if __name__ == "__main__":
    live.main([without_bpf, without_perf, without_all, without_types, old_kernel, paranoid, process_namespace, user_namespace,
               control_groups, other_library, narrow_program, narrow_stacks, setuid_program])
