#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""syscalls.py TOOL FOLDER [CASE...]: auger syscalls on programs that know their calls, by each method."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import live  # pylint: disable=wrong-import-position
from live import Skip  # pylint: disable=wrong-import-position

METHODS = ("bpf", "perf", "ptrace")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")


def methods(bench, *args):
    """Those that can do this here."""
    works = []
    for method in METHODS:
        done = bench.run(bench.tool, "syscalls", "--method", method, "-o", "t", *args, "--", "true", status=None)
        if done.returncode == 0:
            works.append(method)
        else:
            print(f"# without {method}: {done.stderr.strip()}", flush=True)
    return works


def syscalls(bench, *args, output="s.json", **options):
    """The whole answer, and what the command printed."""
    done = bench.run(bench.tool, "syscalls", "-f", "json", "-o", output, *args, **options)
    with open(bench.path(output), encoding="utf-8") as file:
        return json.load(file), done


def told(text):
    """{(pid, tid, call, errno): count} of sysmix."""
    counts = {}
    for line in text.splitlines():
        pid, tid, call, error, count = line.split()
        key = (int(pid), int(tid), call, None if error == "-" else error)
        counts[key] = counts.get(key, 0) + int(count)
    return counts


def errors_of(row):
    """{"ENOENT": 26} of "ENOENT 26, EACCES 1"."""
    pairs = (pair.rsplit(" ", 1) for pair in (row["errnos"] or "").split(", ") if pair)
    return {name: int(count) for name, count in pairs}


def check_mix(bench, whole, text, words):
    """By thread, all that sysmix knows is told, and nothing is lost."""
    truth = told(text)
    rows = {(row["pid"], row["tid"], row["call"]): row for row in whole["rows"]}
    bench.check(len(truth) >= 15, f"{words}: {text}")
    bench.equal(whole["lost"], 0, f"{words}: lost")
    bench.equal(whole["threads"], 5, f"{words}: threads")
    for (pid, tid, call, error), count in truth.items():
        row = rows.get((pid, tid, call))
        if not bench.check(row, f"{words}: no {call} of {tid}"):
            continue
        if error:
            bench.equal(errors_of(row).get(error), count, f"{words}: {call} of {tid}, {error}")
            bench.equal(row["errors"], count, f"{words}: {call} of {tid}, errors")
        else:
            bench.equal(row["calls"], count, f"{words}: {call} of {tid}")
    for row in whole["rows"]:
        check_times(bench, row, words)


def check_times(bench, row, words):
    if row["total_ns"] is None:
        return
    order = [row[key] for key in ("min_ns", "p50_ns", "p99_ns", "max_ns")]
    bench.equal(order, sorted(order), f"{words}: {row}")
    bench.check(row["min_ns"] <= row["mean_ns"] <= row["max_ns"], f"{words}: {row}")
    if row["call"] == "clock_nanosleep":
        bench.check(row["min_ns"] >= 2_000_000, f"{words}: {row}")


def counts(bench):
    """Counts, errors and threads are what the program knows, by every method."""
    for method in methods(bench):
        whole, done = syscalls(bench, "--method", method, "--by", "thread", "--", bench.workload("sysmix"))
        check_mix(bench, whole, done.stdout, method)
        bench.check(f"calls seen by {method}\n" in done.stderr, done.stderr)


def container(bench):
    """Where processes have numbers of their own, these are told."""
    inside = ("unshare", "--pid", "--fork", "--mount-proc")
    if bench.run(*inside, "true", status=None).returncode:
        raise Skip("no namespaces may be made here")
    for method in ("perf", "ptrace"):
        done = bench.run(*inside, bench.tool, "syscalls", "--method", method, "--by", "thread", "-f", "json", "-o",
                         "c.json", "--", bench.workload("sysmix"), status=None)
        if done.returncode:
            print(f"# without {method}: {done.stderr.strip()}", flush=True)
            continue
        with open(bench.path("c.json"), encoding="utf-8") as file:
            check_mix(bench, json.load(file), done.stdout, f"{method} in a container")


def agree(bench):
    """The methods tell the same calls of the same program."""
    answers = {}
    for method in methods(bench):
        whole, _ = syscalls(bench, "--method", method, "--", "cat", "/dev/null", "/nonexistent/x", status=1)
        answers[method] = {row["call"]: (row["calls"], row["errors"], row["errnos"]) for row in whole["rows"]}
    want = answers["ptrace"]
    bench.equal(want["execve"][0], 1, "execve")
    bench.equal(want["exit_group"], (1, 0, None), "exit_group")
    for method, got in answers.items():
        bench.equal(got, want, f"{method} against ptrace")
    words = "trap : USR1; kill -USR1 $$; /bin/true; /bin/true; exit 1"
    for method in answers:
        whole, _ = syscalls(bench, "--method", method, "--", "sh", "-c", words, status=1)
        rows = {row["call"]: row["calls"] for row in whole["rows"]}
        got = [rows.get(call) for call in ("kill", "execve", "exit_group")]
        bench.equal(got, [1, 3, 3], f"{method}: a signal and children")
        bench.check(rows["rt_sigreturn"] >= 1, f"{method}: {rows}")
        errors = [row["errors"] for row in whole["rows"] if row["call"] == "rt_sigreturn"]
        bench.equal(errors, [0], f"{method}: what was interrupted is no error of rt_sigreturn")
        bench.check(not [call for call in rows if call.startswith("syscall ")], f"{method}: {rows}")


def sums(bench):
    """By process and by errno the same calls are summed otherwise."""
    for method in methods(bench):
        whole, done = syscalls(bench, "--method", method, "--by", "process", "--", bench.workload("sysmix"))
        truth = told(done.stdout)
        main = min(pid for pid, *_ in truth)
        rows = {(row["pid"], row["call"]): row for row in whole["rows"]}
        bench.equal(rows[main, "getppid"]["calls"], 6000, f"{method}: getppid")
        bench.equal(rows[main, "dup"]["errors"], 150, f"{method}: dup")
        whole, _ = syscalls(bench, "--method", method, "--by", "errno", "--", bench.workload("sysmix"))
        rows = {(row["errno"], row["call"]): row["calls"] for row in whole["rows"]}
        bench.equal(rows["EBADF", "dup"], 150, f"{method}: EBADF")
        bench.equal(rows["ENOENT", "openat"] >= 607, True, f"{method}: ENOENT {rows}")
        whole, _ = syscalls(bench, "--method", method, "--by", "fd", "--", bench.workload("sysmix"))
        rows = {(row["fd"], row["call"]): row["calls"] for row in whole["rows"]}
        bench.equal(rows[999, "dup"], 150, f"{method}: descriptor 999")


def paths(bench):
    """Paths that were asked for in vain, relative ones by the folder they were relative to."""
    for method in methods(bench, "--path"):
        whole, _ = syscalls(bench, "--method", method, "--path", "--", bench.workload("sysmix"))
        rows = {row["path"]: row for row in whole["rows"]}
        for letter, count in (("A", 100), ("B", 200), ("C", 300)):
            row = rows[f"/nonexistent/sysmix-{letter}"]
            bench.equal((row["calls"], row["missing"]), (count, count), f"{method}: {letter}")
        row = rows[os.path.join(os.path.realpath(bench.folder), "sysmix-relative")]
        bench.equal(row["missing"], 7, f"{method}: relative")
        misses = [row["missing"] for row in whole["rows"]]
        bench.equal(misses, sorted(misses, reverse=True), f"{method}: order")


def files(bench):
    """What descriptors stand for, through dup, chdir and fork."""
    words = ("import os\nos.mkdir('d')\nfd = os.open('d/f', os.O_RDWR | os.O_CREAT)\n"
             "for i in range(30): os.write(fd, b'x')\n"
             "os.dup2(fd, 50)\nos.close(fd)\n"
             "if os.fork() == 0:\n for i in range(20): os.pwrite(50, b'y', 0)\n os._exit(0)\n"
             "os.wait()\nos.chdir('d')\nfd = os.open('g', os.O_RDWR | os.O_CREAT)\nos.write(fd, b'z')\n")
    folder = os.path.realpath(bench.folder)
    for method in methods(bench, "--by", "file"):
        shutil.rmtree(bench.path("d"), ignore_errors=True)
        whole, _ = syscalls(bench, "--method", method, "--by", "file", "--", "/usr/bin/python3", "-c", words)
        rows = {(row["file"], row["call"]): row["calls"] for row in whole["rows"]}
        bench.equal(rows.get((f"{folder}/d/f", "write")), 30, f"{method}: write to f")
        bench.equal(rows.get((f"{folder}/d/f", "pwrite64")), 20, f"{method}: pwrite to f")
        bench.equal(rows.get((f"{folder}/d/g", "write")), 1, f"{method}: write to g")
        whole, _ = syscalls(bench, "--method", method, "--by", "file", "--", "sh", "-c", "echo pipe | cat")
        names = [row["file"] for row in whole["rows"] if row["call"] == "read" and "/" not in row["file"]]
        bench.check(names and all(name.startswith("pipe") for name in names), f"{method}: read from {names}")


def attached(bench):
    """All threads of a running process are followed, and what they start; it is left as it was."""
    for method in methods(bench):
        target = bench.start(bench.workload("target"), stdin=-1, stdout=-1)
        target.stdout.readline()
        tool = bench.start(bench.tool, "syscalls", "--method", method, "-f", "json", "-o", f"{method}.json", "-p",
                           str(target.pid), stderr=-1)
        wait_attached(target.pid, tool, method)
        for _ in range(3):
            target.stdin.write("x\n")
            target.stdin.flush()
            bench.equal(target.stdout.readline(), "done\n", f"{method}: target")
        tool.send_signal(signal.SIGINT)
        _, said = tool.communicate(timeout=60)
        bench.equal(tool.returncode, 0, f"{method}: {said}")
        with open(bench.path(f"{method}.json"), encoding="utf-8") as file:
            rows = {row["call"]: row for row in json.load(file)["rows"]}
        bench.equal(rows["getppid"]["calls"], 300, f"{method}: getppid of the other thread")
        bench.equal(rows["getsid"]["calls"], 30, f"{method}: getsid of children")
        target.stdin.write("x\n")
        target.stdin.flush()
        bench.equal(target.stdout.readline(), "done\n", f"{method}: target goes on")
        target.stdin.close()
        bench.equal(target.wait(30), 0, f"{method}: target's status")
        target.stdout.close()


def waiting(bench):
    """A process that waits in one call all the time is shown in it."""
    for method in methods(bench):
        target = bench.start("sleep", "60")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with open(f"/proc/{target.pid}/wchan", encoding="ascii") as file:
                if "nanosleep" in file.read():
                    break
        whole = json.loads(bench.run(bench.tool, "syscalls", "--method", method, "-f", "json", "-d", "0.3", "-p",
                                     str(target.pid)).stdout)
        got = [(row["call"], row["calls"]) for row in whole["rows"]]
        bench.check(len(got) == 1 and got[0][1] == 1 and
                    got[0][0] in ("clock_nanosleep", "nanosleep", "restart_syscall"), f"{method}: {got}")
        bench.equal(whole["threads"], 1, f"{method}: threads")
        bench.equal([(row["errors"], row["total_ns"]) for row in whole["rows"]], [(0, None)], f"{method}: it goes on")
        target.kill()
        target.wait()


def watch_machine(bench, method, run):
    """What -a tells by thread of all that happened while run() ran."""
    output = f"{method}-a.json"
    tool = bench.start(bench.tool, "syscalls", "--method", method, "-a", "--by", "thread", "-f", "json", "-o", output,
                       stderr=-1)
    wait_attached(tool.pid, tool, "")
    run()
    tool.send_signal(signal.SIGINT)
    _, said = tool.communicate(timeout=60)
    bench.equal(tool.returncode, 0, f"{method}: {said}")
    with open(bench.path(output), encoding="utf-8") as file:
        whole = json.load(file)
    bench.equal({row["pid"] for row in whole["rows"]} & {tool.pid}, set(), f"{method}: itself")
    return whole


def machine(bench):
    """Of all processes each thread's calls are told: of those that start, and of those that run already."""
    if os.geteuid() != 0:
        raise Skip("only root looks at all processes")
    for method in methods(bench):
        if method == "ptrace":
            done = bench.run(bench.tool, "syscalls", "--method", method, "-a", "-d", "0.01", status=1)
            bench.check("cannot trace the whole machine" in done.stderr, done.stderr)
            continue
        target = bench.start(bench.workload("target"), stdin=-1, stdout=-1)
        target.stdout.readline()
        said = []

        def work(target=target, said=said):
            said.append(bench.run(bench.workload("sysmix")).stdout)
            target.stdin.write("x\n")
            target.stdin.flush()
            said.append(target.stdout.readline())

        whole = watch_machine(bench, method, work)
        target.stdin.close()
        target.wait(30)
        target.stdout.close()
        truth = told(said[0])
        rows = {(row["pid"], row["tid"], row["call"]): row for row in whole["rows"]}
        for (pid, tid, call, error), count in truth.items():
            row = rows.get((pid, tid, call), {"calls": 0, "errors": 0})
            got = row["errors" if error else "calls"]
            # What else runs may make more calls than are read in time, which is said.
            bench.check(got == count or (got < count and whole["lost"]), f"{method}: {got} of {count} {call} of {tid}")
        got = sum(row["calls"] for (pid, _, call), row in rows.items() if (pid, call) == (target.pid, "getppid"))
        bench.check(got == 100 or (got < 100 and whole["lost"]), f"{method}: {got} getppid of what ran already")


def wait_attached(pid, tool, method):
    """Until the tool sees the calls of the process."""
    end = time.monotonic() + 60
    while method == "ptrace" and time.monotonic() < end:
        tracers = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
                tracers.append(re.search(r"TracerPid:\s(\d+)", file.read()).group(1))
        if all(tracer == str(tool.pid) for tracer in tracers):
            return
        time.sleep(0.01)
    # Its descriptors are there before it is ready; it waits in epoll_wait when it is.
    while time.monotonic() < end:
        with open(f"/proc/{tool.pid}/wchan", encoding="ascii") as file:
            if "poll" in file.read():
                return
        time.sleep(0.01)


def statuses(bench):
    """The command's status, standard output and signals stay its own."""
    for method in methods(bench):
        run = (bench.tool, "syscalls", "--method", method, "-o", "t", "--")
        bench.equal(bench.run(*run, "sh", "-c", "echo out; exit 7", status=7).stdout, "out\n", f"{method}: output")
        bench.run(*run, "sh", "-c", "kill -TERM $$", status=143)
        bench.run(*run, "/nonexistent/program", status=127)
        bench.run(*run, "/etc/passwd", status=126)
        done = bench.run(*run, "sh", "-c", "trap 'echo usr1' USR1; kill -USR1 $$; sleep 0.01; echo end")
        bench.equal(done.stdout, "usr1\nend\n", f"{method}: a handler")
        tool = bench.start(*run, "sh", "-c", "trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done", stdout=-1,
                           stderr=-1)
        tool.stdout.readline()
        tool.send_signal(signal.SIGTERM)
        tool.communicate(timeout=60)
        bench.equal(tool.returncode, 5, f"{method}: a signal goes on to the command")


def stops(bench):
    """Job control of what is traced works: it stops, goes on, and ends."""
    words = ("import os, signal, time\npid = os.fork()\n"
             "if pid == 0:\n os.kill(os.getpid(), signal.SIGSTOP)\n os._exit(9)\n"
             "_, status = os.waitpid(pid, os.WUNTRACED)\nassert os.WIFSTOPPED(status)\n"
             "os.kill(pid, signal.SIGCONT)\n_, status = os.waitpid(pid, 0)\n"
             "raise SystemExit(os.waitstatus_to_exitcode(status))\n")
    for method in methods(bench):
        bench.run(bench.tool, "syscalls", "--method", method, "-o", "t", "--", "/usr/bin/python3", "-c", words,
                  status=9)


def orphans(bench):
    """Children whose parents are killed while they fork run on, and end."""
    for method in methods(bench):
        said = bench.run("timeout", "60", bench.tool, "syscalls", "--method", method, "-o", "t", "--",
                         bench.workload("orphans"), "300", status=None)
        bench.equal((said.returncode, said.stdout), (0, "done\n"), method)


def exec_of_thread(bench):
    """A thread that is not the first executes another program."""
    words = ("import os, threading\n"
             "threading.Thread(target=os.execv, args=('/bin/sh', ['sh', '-c', 'exit 4'])).start()\n"
             "import time\ntime.sleep(60)\n")
    for method in methods(bench):
        whole, _ = syscalls(bench, "--method", method, "--by", "process", "--", "/usr/bin/python3", "-c", words,
                            status=4)
        row = next(row for row in whole["rows"] if row["call"] == "execve")
        bench.equal((row["calls"], row["comm"]), (2, "sh"), f"{method}: execve")


def unprivileged(bench):
    """Who may nothing else traces: the same figures, and a line that says why."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    copies = {name: bench.path(name) for name in ("auger", "sysmix")}
    shutil.copy(bench.tool, copies["auger"])
    shutil.copy(bench.workload("sysmix"), copies["sysmix"])
    os.chmod(bench.folder, 0o777)
    done = bench.run(*NOBODY, copies["auger"], "syscalls", "--by", "thread", "-f", "json", "-o", "n.json", "--",
                     copies["sysmix"])
    with open(bench.path("n.json"), encoding="utf-8") as file:
        check_mix(bench, json.load(file), done.stdout, "nobody")
    line = next(line for line in done.stderr.splitlines() if "calls seen by" in line)
    bench.check("ptrace (" in line and "perf: " in line, line)
    done = bench.run(*NOBODY, copies["auger"], "syscalls", "-o", "t", "-p", "1", status=1)
    bench.check("may not be traced" in done.stderr, done.stderr)
    whole = bench.run(*NOBODY, copies["auger"], "syscalls", "--path", "-f", "json", "-o", "p.json", "--",
                      copies["sysmix"])
    bench.equal(whole.returncode, 0, "paths")
    with open(bench.path("p.json"), encoding="utf-8") as file:
        rows = {row["path"]: row["missing"] for row in json.load(file)["rows"]}
    bench.equal(rows["/nonexistent/sysmix-A"], 100, "paths by ptrace")


def filtered(bench):
    """The same paths with fewer stops, and a line that says what it costs."""
    done = bench.run(bench.tool, "syscalls", "--method", "ptrace", "--path", "--seccomp", "-f", "json", "-o", "f.json",
                     "--", bench.workload("sysmix"))
    with open(bench.path("f.json"), encoding="utf-8") as file:
        rows = {row["path"]: row["missing"] for row in json.load(file)["rows"]}
    bench.equal(rows["/nonexistent/sysmix-A"], 100, "paths by the filter")
    bench.check("cannot run on without auger" in done.stderr, done.stderr)
    for args in ([], ["--method", "ptrace"], ["--path"]):
        bench.run(bench.tool, "syscalls", "--seccomp", *args, "--", "true", status=2)


def killed(bench):
    """A program outlives SIGKILL to auger, and its calls with paths go on to work."""
    words = ("import os, time\nfor i in range(80):\n open('steps', 'w').write(str(i))\n time.sleep(0.01)\n"
             "open('done', 'w').write('all')\n")
    for method in methods(bench):
        for more in ([], ["--path"]) if method != "perf" else ([],):
            auger = bench.start(bench.tool, "syscalls", "--method", method, *more, "--", "/usr/bin/python3", "-c",
                                words, stderr=subprocess.DEVNULL)
            while not os.path.exists(bench.path("steps")):
                time.sleep(0.01)
            auger.kill()
            auger.wait()
            for _ in range(3000):
                if os.path.exists(bench.path("done")):
                    break
                time.sleep(0.01)
            if bench.check(os.path.exists(bench.path("done")), f"{method} {more}: the program ended with auger"):
                os.unlink(bench.path("done"))
            os.unlink(bench.path("steps"))


def traced_rows(bench, name, events=False):
    """Of a trace the calls, or what is no call."""
    with open(bench.path(name), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if ("event" in row) == events]


def events(bench):
    """Signals, ends of threads and processes, and exec of another thread than the first, as strace prints them."""
    words = ("import os, signal, threading\nsignal.signal(signal.SIGUSR1, lambda *_: None)\n"
             "signal.signal(signal.SIGCHLD, lambda *_: None)\nos.kill(os.getpid(), signal.SIGUSR1)\n"
             "if os.fork() == 0: os._exit(3)\nos.wait()\n"
             "if os.fork() == 0: os.kill(os.getpid(), signal.SIGKILL)\nos.wait()\n"
             "thread = threading.Thread(target=os.getppid)\nthread.start()\nthread.join()\n"
             "thread = threading.Thread(target=lambda: os.execv('/bin/sh', ['sh', '-c', 'exit 5']))\n"
             "thread.start()\nthread.join()\n")
    command = ["/usr/bin/python3", "-c", words]
    want = ["exited with 0", "exited with 3", "exited with 5", "killed by SIGKILL", "superseded by execve in pid N",
            "SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=N, si_uid=N, si_status=3}",
            "SIGCHLD {si_signo=SIGCHLD, si_code=CLD_KILLED, si_pid=N, si_uid=N, si_status=SIGKILL}",
            "SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=N, si_uid=N}"]
    if shutil.which("strace"):
        bench.run("strace", "-f", "-o", "strace.txt", *command, status=5)
        with open(bench.path("strace.txt"), encoding="utf-8") as file:
            found = re.findall(r"(?:---|\+\+\+) (.*) (?:---|\+\+\+)\n", file.read())
        bench.equal(sorted(plain(re.sub(", si_utime=.*", "}", text)) for text in found), sorted(want), "strace")
    for method in methods(bench, "--trace"):
        if method == "perf":
            continue
        for more in ([], ["-e", "exit_group"]):
            bench.run(bench.tool, "syscalls", "--method", method, "--trace", *more, "-f", "json", "-o", "e.jsonl", "--",
                      *command, status=5)
            rows = traced_rows(bench, "e.jsonl", events=True)
            bench.equal(sorted(plain(row["result"]) for row in rows), sorted(want), f"{method} {more}")
            bench.check(all(row["call"] is None and row["start_ns"] >= 0 for row in rows), f"{method}: {rows}")
            kinds = {row["event"] for row in rows}
            bench.equal(kinds, {"signal", "exit", "superseded"}, method)
        done = bench.run(bench.tool, "syscalls", "--method", method, "--trace", "--", "sh", "-c", "kill -9 $$", status=137)
        bench.check(re.search(r"^\d+\.\d+ \d+ sh \+\+\+ killed by SIGKILL \+\+\+$", done.stderr, re.M),
                    f"{method}: {done.stderr}")
        done = bench.run(bench.tool, "syscalls", "--method", method, "--trace", "--failed", "--", "true")
        bench.check("+++" not in done.stderr, f"{method}: {done.stderr}")


def plain(text):
    """Without process and user numbers."""
    return re.sub(r"(pid[ =]|si_uid=)\d+", r"\1N", text)


def traced(bench):
    """Each call, with its arguments in words, by all who see them."""
    words = ("import os\nfd = os.open('f', os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)\nos.write(fd, b'a\\tb')\n"
             "os.lseek(fd, 1, os.SEEK_SET)\nos.unlink('f')\n"
             "try: os.open('/nonexistent/y', 0)\nexcept OSError: pass\n"
             "os.writev(fd, [b'one', b'three'])\n"
             "os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 3', 'a b'], {'A': '1', 'B': '2'})\nos.wait()\n"
             "os.execve('/bin/true', ['true', 'x' * 300], {'A': '1'})\n")
    folder = os.path.realpath(bench.folder)
    for method in methods(bench, "--trace"):
        done = bench.run(bench.tool, "syscalls", "--method", method, "--trace", "-f", "json", "-o", "t.jsonl", "--",
                         "/usr/bin/python3", "-c", words)
        rows = traced_rows(bench, "t.jsonl")
        want = [("openat", 'AT_FDCWD, "f", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0640', None, f"3<{folder}/f>"),
                ("write", f'3<{folder}/f>, "a\\tb", 3', None, "3"),
                ("lseek", f"3<{folder}/f>, 1, SEEK_SET", None, "1"),
                ("unlink", '"f"', None, "0"),
                ("openat", 'AT_FDCWD, "/nonexistent/y", O_RDONLY|O_CLOEXEC', "ENOENT",
                 "-1 ENOENT (No such file or directory)")]
        got = [(row["call"], row["args"], row["errno"], row["result"]) for row in rows]
        if method == "perf":
            check_addresses(bench, got, done.stderr)
            continue
        at = got.index(want[0]) if want[0] in got else 0
        bench.equal(got[at:at + 4], want[:4], f"{method}: calls")
        bench.check(want[4] in got, f"{method}: no {want[4]}")
        bench.equal((rows[-1]["call"], rows[-1]["ret"]), ("exit_group", None), f"{method}: the last")
        row = ("writev", f'3<{folder}/f>, [{{"one", 3}}, {{"three", 5}}], 2', None, "8")
        bench.check(row in got, f"{method}: vectors")
        execs = [re.sub("0x[0-9a-f]+", "HERE", row["args"]) for row in rows if row["call"] == "execve"]
        bench.check(execs[0].startswith('"/usr/bin/python3", ["/usr/bin/python3", "-c", "import os\\nfd'), execs[0])
        bench.equal(execs[1:], ['"/bin/sh", ["sh", "-c", "exit 3", "a b"], HERE /* 2 vars */',
                                f'"/bin/true", ["true", "{127 * "x"}"...], HERE /* 1 var */'], f"{method}: programs")
        bench.equal(done.stdout, "", f"{method}: output")


def check_addresses(bench, got, said):
    """Who sees no texts says so, and shows where they are."""
    got = [(call, re.sub("0x[0-9a-f]+", "HERE", args), error, result) for call, args, error, result in got]
    for row in (("openat", "AT_FDCWD, HERE, O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0640", None, "3"),
                ("write", "3, HERE, 3", None, "3"), ("lseek", "3, 1, SEEK_SET", None, "1"), ("unlink", "HERE", None, "0"),
                ("execve", "HERE, HERE, HERE", None, "0")):
        bench.check(row in got, f"perf: no {row}")
    bench.check("addresses stand for them" in said, said)


def stacks(bench):
    """A profile of calls by user stack: complete, the call innermost, as many as were counted. Copies of stacks may
    come faster than perf's are read: no more are missing than were lost."""
    for method in methods(bench, "--stacks", "p.pb.gz"):
        whole, _ = syscalls(bench, "--method", method, "--stacks", "p.pb.gz", "--", bench.workload("sysmix"))
        report = bench.report()
        rows = {row["function"]: row for row in report["rows"]}
        bench.equal(report["lost"], whole["lost"], f"{method}: lost")
        bench.check(method == "perf" or whole["lost"] == 0, f"{method}: {whole['lost']} lost")

        def has(got, count, of, may_be_more=False, method=method, lost=whole["lost"]):
            bench.check(count - lost <= got and (may_be_more or got <= count),
                        f"{method}: {got} of {count} {of}, {lost} lost")

        for call, count in (("getppid", 6000), ("dup", 150), ("getpgid", 200), ("getsid", 300)):
            has(rows[call]["self"] if call in rows else 0, count, call)
        has(next(row["calls"] for row in whole["rows"] if row["call"] == "getppid"), 6000, "getppid counted")
        for function, count in (("work", 6000 + 150 + 15 + 600), ("run_again", 200 + 7)):
            has(rows[function]["total"] if function in rows else 0, count, function, may_be_more=True)


def traced_stacks(bench):
    """Each call of a trace has the functions that led to it, named, also those of Python."""
    bench.run(bench.tool, "syscalls", "--trace", "-k", "-e", "getppid,dup", "-f", "json", "-o", "k.jsonl", "--",
              bench.workload("sysmix"))
    rows = traced_rows(bench, "k.jsonl")
    inner = [row for row in rows if row["call"] == "getppid"]
    bench.equal(len(inner), 6000, "getppid")
    bench.check(all(any("sysmix(work)" in frame for frame in row["stack"]) for row in inner), inner[0])
    done = bench.run(bench.tool, "syscalls", "--trace", "-k", "-e", "getppid", "--", bench.workload("sysmix"))
    lines = done.stderr.splitlines()
    at = next(i for i, line in enumerate(lines) if " getppid() = " in line)
    bench.check(re.fullmatch(r" > /\S+\(\w+\) \[0x[0-9a-f]+\].*", lines[at + 1]), lines[at:at + 3])
    program = "def missing():\n    open('/nonexistent/k')\ntry:\n    missing()\nexcept OSError:\n    pass\n"
    with open(bench.path("k.py"), "w", encoding="ascii") as file:
        file.write(program)
    bench.run(bench.tool, "syscalls", "--trace", "-k", "--failed", "-P", "/nonexistent/k", "-f", "json", "-o", "k.jsonl",
              "--", "/usr/bin/python3", "k.py")
    rows = traced_rows(bench, "k.jsonl")
    bench.check(len(rows) == 1 and any(frame.startswith("missing ") and frame.endswith("k.py:2")
                                       for frame in rows[0]["stack"]), rows)


def selected(bench):
    """What is asked for is counted and printed, the rest is not: by name, class, outcome and time."""
    for method in methods(bench):
        whole, _ = syscalls(bench, "--method", method, "-e", "getppid,%process", "--", bench.workload("sysmix"))
        rows = {row["call"]: row["calls"] for row in whole["rows"]}
        bench.equal((rows.get("getppid"), "openat" in rows, "dup" in rows, "exit_group" in rows), (6000, False, False, True),
                    f"{method}: names")
        for by in ("call", "thread", "fd"):
            whole, _ = syscalls(bench, "--method", method, "-e", "!%file,close", "--failed", "--by", by, "--",
                                bench.workload("sysmix"))
            rows = [row for row in whole["rows"] if row["calls"]]
            bench.check(rows and all(row["errors"] == row["calls"] for row in rows), f"{method} by {by}: failed: {rows}")
            bench.equal(sum(row["calls"] for row in rows if row["call"] == "dup"), 150, f"{method} by {by}: dup")
            bench.check(not any(row["call"] in ("openat", "close") for row in rows), f"{method} by {by}: {rows}")
        whole, _ = syscalls(bench, "--method", method, "--longer", "300ms", "--", "sleep", "0.4")
        bench.equal([row["call"] for row in whole["rows"]], ["clock_nanosleep"], f"{method}: longer")
        done = bench.run(bench.tool, "syscalls", "--method", method, "--trace", "-e", "lseek", "-f", "json", "-o", "t.jsonl",
                         "--", "/usr/bin/python3", "-c", "import os; fd = os.open('/', 0); os.lseek(os.dup(fd), 0, 1)")
        traced = traced_rows(bench, "t.jsonl")
        bench.check(traced and all(row["call"] == "lseek" for row in traced), f"{method}: {traced} {done.stderr}")
        if method != "perf":
            bench.check(traced[-1]["args"].startswith("4</>, 0"), f"{method}: {traced[-1]}")


def on_path(bench):
    """Calls on a file and its descriptors alone, by whatever path, in all threads and children."""
    words = ("import os, threading\nos.mkdir('e')\nother = os.open('other', os.O_RDWR | os.O_CREAT)\n"
             "fd = os.open('e/../file', os.O_RDWR | os.O_CREAT)\nos.write(fd, b'x' * 9)\nos.write(other, b'y')\n"
             "thread = threading.Thread(target=lambda: os.pread(fd, 3, 0))\nthread.start()\nthread.join()\n"
             "copy = os.dup(fd)\nos.close(fd)\nos.open('other', os.O_RDONLY)\n"
             "if os.fork() == 0:\n os.lseek(copy, 0, 0)\n os._exit(0)\n"
             "os.wait()\nos.chdir('e')\nos.truncate('../file', 5)\nos.truncate('../other', 5)\nos.unlink('../file')\n")
    want = {"openat": 1, "write": 1, "pread64": 1, "fcntl": 1, "close": 1, "lseek": 1, "truncate": 1, "unlink": 1}
    for method in methods(bench, "-P", "file"):
        shutil.rmtree(bench.path("e"), ignore_errors=True)
        whole, _ = syscalls(bench, "--method", method, "-P", "file", "--", "/usr/bin/python3", "-c", words)
        rows = {row["call"]: row["calls"] for row in whole["rows"]}
        bench.equal({call: rows.get(call) for call in want}, want, f"{method}: {rows}")
        shutil.rmtree(bench.path("e"), ignore_errors=True)
        bench.run(bench.tool, "syscalls", "--method", method, "--trace", "-P", bench.path("file"), "-P", "/nonexistent/z",
                  "-f", "json", "-o", "p.jsonl", "--", "/usr/bin/python3", "-c",
                  words + "os.stat('/usr')\ntry: os.stat('/nonexistent/z')\nexcept OSError: pass\n")
        with open(bench.path("p.jsonl"), encoding="utf-8") as file:
            got = [json.loads(line)["args"] for line in file]
        bench.check(got and all("file" in args or "/nonexistent/z" in args for args in got), f"{method}: {got}")
        bench.check(any("/nonexistent/z" in args for args in got), f"{method}: {got}")


def slowest(bench):
    """The slowest calls of a program that knows them, with their files, by each method."""
    # Who lets the first thread go on waits until that has slept for 100 ms, and then 400 ms more.
    words = ("import os, threading, time\ndef let_wait(pid):\n slept = 0\n while slept < 10:\n"
             "  state = open(f'/proc/{pid}/task/{pid}/stat').read().rsplit(') ', 1)[1][0]\n"
             "  slept = slept + 1 if state == 'S' else 0\n  time.sleep(0.01)\n time.sleep(0.4)\n"
             "pid = os.getpid()\nfds = os.pipe()\n"
             "thread = threading.Thread(target=lambda: (let_wait(pid), os.write(fds[1], b'x')))\n"
             "thread.start()\nos.read(fds[0], 1)\nthread.join()\n"
             "folder = os.open('/proc/sys', os.O_RDONLY)\nfor i in range(2000): os.fstat(folder)\n"
             "os.mkfifo('fifo')\n"
             "if os.fork() == 0:\n let_wait(pid)\n os.open('fifo', os.O_WRONLY)\n os._exit(0)\n"
             "os.open('fifo', os.O_RDONLY)\n")
    for method in methods(bench):
        for more in ([], ["--longer", "1ms"]):
            if os.path.exists(bench.path("fifo")):
                os.unlink(bench.path("fifo"))
            whole, _ = syscalls(bench, "--method", method, "--slowest", *more, "--", "/usr/bin/python3", "-c", words)
            check_slowest(bench, whole["rows"], f"{method} {more}")
    for method in methods(bench):
        whole, _ = syscalls(bench, "--method", method, "--slowest", "--failed", "-e", "openat", "-n", "2", "--",
                            "cat", "/nonexistent/slow", status=1)
        bench.check(0 < len(whole["rows"]) <= 2, f"{method}: {whole['rows']}")
        for row in whole["rows"]:
            bench.equal((row["call"], row["errno"]), ("openat", "ENOENT"), f"{method}: failed")


def check_slowest(bench, rows, words):
    took = [row["took_ns"] for row in rows]
    bench.equal(took, sorted(took, reverse=True), f"{words}: order")
    bench.check(len(rows) <= 10 and all(row["start_ns"] >= 0 for row in rows), f"{words}: {rows}")
    for call, least, args in (("read", 400_000_000, r"\d+<pipe(:\[\d+\])?>, 0x[0-9a-f]+, 1"),
                              ("clock_nanosleep", 400_000_000, ".*"),
                              ("openat", 400_000_000, r'AT_FDCWD, "fifo", O_RDONLY\|O_CLOEXEC')):
        found = [row for row in rows if row["call"] == call and row["took_ns"] >= least]
        bench.check(found, f"{words}: no {call} of {least} ns: {rows}")
        if not words.startswith("perf"):
            bench.check(any(re.fullmatch(args, row["args"]) for row in found), f"{words}: {found}")
    threads = {row["tid"] for row in rows if row["call"] in ("read", "clock_nanosleep")}
    bench.check(len(threads) >= 2, f"{words}: {rows}")


def losses(bench):
    """While nobody reads, sums go on, and what has no room is counted."""
    calls = 400_000
    words = (f"import os\nfd = os.open('/dev/null', 0)\nprint('up', flush=True)\ninput()\n"
             f"for i in range({calls}): os.lseek(fd, 0, 1)\nprint('done', flush=True)\n")
    for method, *args in (("bpf",), ("bpf", "--by", "fd"), ("perf",)):
        if method not in methods(bench, *args):
            continue
        tool = bench.start(bench.tool, "syscalls", "--method", method, *args, "-f", "json", "-o", "l.json", "--",
                           "/usr/bin/python3", "-c", words, stdin=-1, stdout=-1, stderr=-1)
        tool.stdout.readline()
        tool.send_signal(signal.SIGSTOP)
        tool.stdin.write("\n")
        tool.stdin.flush()
        bench.equal(tool.stdout.readline(), "done\n", f"{method}: command")
        tool.send_signal(signal.SIGCONT)
        _, said = tool.communicate(timeout=60)
        with open(bench.path("l.json"), encoding="utf-8") as file:
            whole = json.load(file)
        told = sum(row["calls"] for row in whole["rows"] if row["call"] == "lseek")
        if method == "bpf" and not args:
            bench.equal((told >= calls, whole["lost"]), (True, 0), f"sums: {told}")
            continue
        bench.check(0 < whole["lost"] and told < calls <= told + whole["lost"],
                    f"{method}: {told} told, {whole['lost']} lost")
        bench.check(f"{whole['lost']} calls were lost" in said, f"{method}: {said}")


def formats(bench):
    """Tables and CSV go to standard error, that output stays the command's."""
    done = bench.run(bench.tool, "syscalls", "-f", "csv", "--by", "thread", "--", "echo", "out")
    bench.equal(done.stdout, "out\n", "output")
    rows = list(csv.DictReader(line for line in done.stderr.splitlines() if not line.startswith("auger: ")))
    bench.check(any(row["call"] == "write" and row["calls"] == "1" for row in rows), rows)
    whole, _ = syscalls(bench, "--histogram", "--", bench.workload("sysmix"))
    rows = [row for row in whole["rows"] if row["call"] == "getppid"]
    bench.equal(sum(row["calls"] for row in rows), 6000, "histogram")
    for row in rows:
        bench.check(row["below_ns"] == 2 * row["from_ns"] or row["from_ns"] == 0, row)
    bench.run(bench.tool, "syscalls", "--histogram", "-o", "h.txt", "--", bench.workload("sysmix"))
    with open(bench.path("h.txt"), encoding="utf-8") as file:
        text = file.read()
    bars = [line.split() for line in text.splitlines() if line.endswith("#") and not line.startswith("#")]
    bench.equal(len({bar[0] for bar in bars}), 3, f"three calls: {text}")
    bench.check(all(len(bar[-1]) <= 40 for bar in bars) and " more histograms; -n 0 shows all" in text, text)


def reused(bench):
    """Two processes that had the same PID one after the other are two rows."""
    done = bench.run(bench.workload("reuse"), status=None)
    if done.returncode:
        raise Skip("no PID may be chosen here")
    for method in methods(bench):
        whole, done = syscalls(bench, "--method", method, "--by", "process", "--", bench.workload("reuse"), status=None)
        if done.returncode == 77:
            print(f"# {method}: another process took the PID", flush=True)
            continue
        pid = int(done.stdout)
        rows = [row for row in whole["rows"] if row["pid"] == pid and row["call"] == "getppid"]
        bench.equal(sorted(row["calls"] for row in rows), [30, 100], method)
        bench.check(all(row["wall_percent"] <= 100 for row in rows), f"{method}: {rows}")


if __name__ == "__main__":
    live.main([counts, container, agree, sums, paths, files, attached, waiting, machine, statuses, stops, orphans, exec_of_thread, reused,
               unprivileged, filtered, killed, traced, events, selected, stacks, traced_stacks, on_path, slowest, losses, formats])
