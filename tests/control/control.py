#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""control.py AUGER SPIN: auger control through a real mount, by shells, cat, dd and python."""

import errno
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mount import Mount  # noqa: E402

AUGER, SPIN = map(os.path.realpath, sys.argv[1:3])
USAGE = "startclr|start|stop|clear|opstart|opstop|optimer|"
OPTIMER_USAGE = "optimer [<0|1|..|n|all> <on|off>] [period USEC]"
CASES = []
failures = []


def case(function):
    CASES.append(function)
    return function


def check(condition, words):
    if not condition:
        failures.append(words)
        print(words, file=sys.stderr)
    return condition


def equal(got, want, words):
    return check(got == want, f"{words}: got {got!r}, want {want!r}")


def shell(name, line, **options):
    return subprocess.run([name, "-c", line], capture_output=True, text=True, timeout=30,
                          check=False, **options)


def samples(data):
    """The samples of a trace, as (core, ns, pcs); None: it is not whole."""
    found, at = [], 0
    while at < len(data):
        if at + 16 > len(data):
            return None
        word, ns = struct.unpack_from("<QQ", data, at)
        count = word & 0xFF
        if word >> 48 != 0xEE01 or word >> 32 & 0xFFFF or at + 16 + 8 * count > len(data):
            return None
        found.append((word >> 16 & 0xFFFF, ns, struct.unpack_from(f"<{count}Q", data, at + 16)))
        at += 16 + 8 * count
    return found


def spin(seconds, cores=(0, 1)):
    """Keeps them busy: of a core that is idle there is no sample."""
    programs = [subprocess.Popen(["taskset", "-c", str(n), SPIN, str(seconds)]) for n in cores]
    for program in programs:
        program.wait()


def collect(m, seconds=0.3, commands="optimer all on\nopstart\n"):
    equal(m.write(commands), 0, "starting")
    spin(seconds)
    equal(m.write("opstop\noptimer all off\n"), 0, "stopping")


@case
def the_walk(m):
    """The walk of Akaros' document, in each shell."""
    for name in ("sh", "dash", "bash"):
        done = shell(name, f"""cd {m.path}
            echo optimer 0 on > kpctl && echo opstart > kpctl || exit 1
            {SPIN} 0.3
            echo opstop > kpctl && echo optimer all off > kpctl || exit 1
            cat kpoprofile > {m.path}.trace && cat kpoprofile | wc -c""")
        with open(m.path + ".trace", "rb") as f:
            trace = f.read()
        os.unlink(m.path + ".trace")
        equal((done.returncode, done.stdout.strip(), done.stderr), (0, "0", ""), name)
        found = samples(trace)
        check(found is not None and len(found) > 100, f"{name}: samples")
        check(all(core == 0 for core, _, _ in found or []), f"{name}: only of core 0")
    for text in (m.text("kptrace"), m.words()):
        check("Enable tracing on 0\n" in text and "Enable tracing on 1\n" in text, "console")


@case
def garbage(m):
    """echo fails, and the usage is where a reader looks for it."""
    for name in ("sh", "dash", "bash"):
        done = shell(name, f"echo garbage > {m.path}/kpctl")
        check(done.returncode != 0 and done.stderr, f"{name}: echo fails")
        check(m.text("last_error").startswith("garbage: " + USAGE), f"{name}: last_error")
        done = shell(name, f"exec 3<>{m.path}/kpctl; echo optimer garbage >&3 || cat <&3; "
                           "echo user on >&3; cat <&3")
        check(done.stdout.startswith(OPTIMER_USAGE + "\n" + USAGE), f"{name}: same descriptor")
    for line, code, reason in (
            ("garbage", errno.EINVAL, USAGE), (" ", errno.EINVAL, USAGE),
            ("optimer", errno.EINVAL, OPTIMER_USAGE), ("optimer 0", errno.EINVAL, OPTIMER_USAGE),
            ("optimer garbage on", errno.EINVAL, OPTIMER_USAGE),
            ("optimer 0 maybe", errno.EINVAL, "optimer needs on|off"),
            ("optimer 99 maybe", errno.ENXIO, "no such coreid 99"),
            ("optimer -1 on", errno.EINVAL, OPTIMER_USAGE),
            ("optimer 99999999999 on", errno.ENXIO, "no such coreid 99999999999"),
            ("optimer period 99", errno.ERANGE, OPTIMER_USAGE),
            ("optimer period 1000001", errno.ERANGE, OPTIMER_USAGE),
            ("optimer period 1e3", errno.EINVAL, OPTIMER_USAGE),
            ("opstart now", errno.EINVAL, USAGE), ("depth 0", errno.ERANGE, "depth N"),
            ("qlimit", errno.EINVAL, "qlimit KB"), ("user maybe", errno.EINVAL, "user on|off")):
        equal(m.write(line), code, f"'{line}'")
        check(m.text("last_error").startswith(f"{line}: {reason}"), f"'{line}': reason")
    equal(m.write("x" * 5000), errno.EMSGSIZE, "too long")
    for name, text, reason in (
            ("mpstat", "x", "mpstat bad option (reset|ipi|on|off)"),
            ("mpstat", "ipi", "need another arg: ipi [on|off]"),
            ("kprintx", "x", "invalid option to Kprintx")):
        equal(m.write(text, name), errno.EINVAL, f"{name} {text}")
        check(m.text("last_error").startswith(f"{text}: {reason}"), f"{name}: reason")
    log = m.text("error_log")
    equal(log.count("error:"), 8, "the last eight")
    check("  Command: user maybe\n                ^\n" in log, "a mark under the word")
    equal(m.write("user on"), 0, "a good one")
    equal(m.text("last_error"), "ok\n", "last_error after it")
    equal(m.write("depth 5\ngarbage\n"), errno.EINVAL, "two lines, one wrong")
    equal(m.status()["depth"], "127", "then neither is done")


@case
def ways_of_writing(m):
    """dd, tee, appending, several lines, and python, which tries again when it closes."""
    path = m.file("kpctl")
    equal(shell("sh", f"echo depth 3 | dd of={path} status=none").returncode, 0, "dd")
    equal(m.status()["depth"], "3", "dd")
    equal(shell("sh", f"echo depth 4 | tee {path} >/dev/null").returncode, 0, "tee")
    equal(m.status()["depth"], "4", "tee")
    equal(shell("bash", f"echo depth 5 >>{path}; echo depth 6 >>{path}").returncode, 0, ">>")
    equal(m.status()["depth"], "6", ">>")
    equal(shell("bash", f"printf 'depth 7\\nuser off\\n' >{path}").returncode, 0, "printf")
    equal((m.status()["depth"], m.status()["user"]), ("7", "off"), "printf")
    with open(path, "w", encoding="ascii") as f:
        f.write("depth 127\nuser on\n")
    equal((m.status()["depth"], m.status()["user"]), ("127", "on"), "python")
    try:
        with open(path, "w", encoding="ascii") as f:
            f.write("garbage\n")
        check(False, "python: no error")
    except OSError as e:
        equal(e.errno, errno.EINVAL, "python")
    try:
        m.write("x", "status")
        check(False, "status is read-only")
    except PermissionError:
        pass


@case
def readers(m):
    """One reader of kpoprofile, in pieces of any size; any number of streams."""
    before = int(m.status()["samples"])
    collect(m)
    want = int(m.status()["samples"]) - before
    with open(m.file("kpoprofile"), "rb", buffering=0) as f:
        for name in ("kpoprofile", "cpu/0/kpoprofile"):
            try:
                with open(m.file(name), "rb", buffering=0):
                    check(False, f"{name}: a second reader")
            except OSError as e:
                equal(e.errno, errno.EBUSY, f"{name}: a second reader")
        data = b"".join(iter(lambda: f.read(100), b""))
    equal(len(samples(data) or []), want, "100 bytes at a time")
    collect(m)
    done = subprocess.run(["dd", "if=" + m.file("kpoprofile"), "bs=30", "count=1", "status=none"],
                          capture_output=True, timeout=10, check=True)
    check(len(done.stdout) == 30 and samples(m.read("kpoprofile")), "the rest begins whole")
    got = {}

    def follow(name):
        with open(m.file("stream"), "rb", buffering=0) as f:
            ready.wait()
            got[name] = b"".join(iter(lambda: f.read(1 << 16), b""))
    ready = threading.Barrier(3)
    threads = [threading.Thread(target=follow, args=(n,)) for n in "ab"]
    for t in threads:
        t.start()
    ready.wait(10)
    collect(m)
    for t in threads:
        t.join(10)
    check(not any(t.is_alive() for t in threads), "streams end with the collection")
    check(got.get("a") and got["a"] == got.get("b"), "both streams have all")
    equal(got.get("a"), m.read("kpoprofile"), "what kpoprofile has")
    collect(m)
    cores = [samples(m.read(f"cpu/{n}/kpoprofile")) for n in (0, 1)]
    check(all(cores) and all(s[0] == n for n in (0, 1) for s in cores[n]), "core by core")
    equal(m.read("kpoprofile"), b"", "then nothing is left")


@case
def blocked(m):
    """A reader that waits is freed by signals and by opstop; poll tells."""
    equal(m.write("opstart"), 0, "opstart")
    for number in (signal.SIGINT, signal.SIGKILL):
        for name in ("kpoprofile", "stream"):
            with subprocess.Popen(["cat", m.file(name)], stdout=subprocess.DEVNULL) as reader:
                time.sleep(0.2)
                equal(reader.poll(), None, f"{name} waits")
                begin = time.monotonic()
                reader.send_signal(number)
                equal(reader.wait(10), -number, f"{name}: signal {number}")
                check(time.monotonic() - begin < 1, f"{name}: at once")
    fd = os.open(m.file("kpoprofile"), os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.read(fd, 100)
        check(False, "a read that must not wait")
    except BlockingIOError:
        pass
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    equal(poll.poll(100), [], "nothing to poll")
    equal(m.write("optimer all on"), 0, "optimer")
    check(poll.poll(3000), "poll tells of samples")
    os.close(fd)
    with subprocess.Popen(["cat", m.file("kpoprofile")], stdout=subprocess.DEVNULL) as reader:
        time.sleep(0.2)
        equal(m.write("opstop\noptimer all off\n"), 0, "opstop")
        equal(reader.wait(5), 0, "opstop ends the reader")


@case
def overflow(m):
    """A queue that is full drops the newest samples, whole, and counts them."""
    equal(m.write("opclear\nqlimit 64\noptimer period 100\n"), 0, "limits")
    before = m.status()
    collect(m, 1)
    after = m.status()
    taken, dropped = (int(after[k]) - int(before[k]) for k in ("samples", "dropped"))
    check(dropped > 0 and int(after["queued_bytes"]) <= 65536, "it is full")
    found = samples(m.read("kpoprofile"))
    equal(len(found or []), taken - dropped, "what was not dropped is there, whole")
    equal(m.write("qlimit 65536\noptimer period 1000\n"), 0, "limits")
    for period, code in ((100, 0), (1000000, 0), (99, errno.ERANGE), (1000001, errno.ERANGE)):
        equal(m.write(f"optimer period {period}"), code, f"period {period}")
    equal(m.status()["period_us"], "1000000", "what is refused changes nothing")
    equal(m.write("optimer period 1000\n"), 0, "period")


@case
def periods(m):
    """A core's samples come as often as is asked for."""
    for period in (500, 1000, 5000):
        equal(m.write(f"opclear\noptimer period {period}\n"), 0, "period")
        collect(m, 0.6)
        times = [ns for core, ns, _ in samples(m.read("kpoprofile")) or [] if core == 0]
        steps = sorted(b - a for a, b in zip(times, times[1:]))
        middle = steps[len(steps) // 2] / 1000 if steps else 0
        check(0.9 * period < middle < 1.1 * period, f"period {period}: {middle:.0f}")
    equal(m.write("optimer period 1000\n"), 0, "period")


@case
def profile(m):
    """The profile knows the program, also what it was called with, and so do maps."""
    equal(m.write("opclear\noptimer all on\nopstart\n"), 0, "start")
    subprocess.run([SPIN, "1"], check=True)
    equal(m.write("opstop\noptimer all off\n"), 0, "stop")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.pb.gz")
        with open(path, "wb") as f:
            f.write(m.read("profile.pb.gz"))
        rows = subprocess.run([AUGER, "report", path, "--comm", "spin", "-n", "3", "-f", "csv"],
                              capture_output=True, text=True, check=True).stdout
        top = rows.splitlines()[1] if rows.count("\n") > 1 else ""
        check("busy_spin" in top, "the function: " + rows)
        folded = subprocess.run([AUGER, "convert", path, "--comm", "spin", "--to", "folded"],
                                capture_output=True, text=True, check=True).stdout
        check("busy_caller;busy_spin " in folded, "its caller")
        if shutil.which("go"):
            done = subprocess.run(["go", "tool", "pprof", "-top", path], capture_output=True,
                                  text=True, check=False)
            check("busy_spin" in done.stdout, "go tool pprof: " + done.stderr)
        if shutil.which("google-pprof"):
            path = os.path.join(folder, "p.sym")
            with open(path, "wb") as f:
                f.write(m.read("profile.pprof"))
            done = subprocess.run(["google-pprof", "--text", path], capture_output=True, text=True,
                                  check=False)
            check("busy_spin" in done.stdout, "google-pprof: " + done.stderr)
        trace = os.path.join(folder, "trace")
        with open(trace, "wb") as f:
            f.write(m.read("kpoprofile"))
        folded = subprocess.run([AUGER, "convert", "--from", "akaros", trace, "--to", "folded"],
                                capture_output=True, text=True, check=True)
        equal(folded.stderr, "", "the trace is sound")
    check(os.path.realpath(SPIN) in m.text("maps"), "maps")
    equal(m.write("opclear"), 0, "opclear")
    equal(m.status()["profile_stacks"], "0", "opclear")


@case
def histogram(m):
    """start counts places of the kernel in lines of 64 bytes."""
    equal(m.write("startclr"), 0, "startclr")
    time.sleep(0.3)
    equal(m.write("stop"), 0, "stop")
    data = m.read("kpdata")
    lines = data.decode().splitlines()
    equal(len(data), 64 * len(lines), "64 bytes a line")
    equal(os.stat(m.file("kpdata")).st_size, len(data), "its size")
    equal([line[17:46].strip() for line in lines[:2]], ["Total", "User"], "the first two")
    counts = [int(line[47:], 16) for line in lines]
    equal(counts[0], sum(counts[1:]), "the total")
    check(counts[0] > 100, "ticks")
    with open(m.file("kpdata"), "rb", buffering=0) as f:
        f.seek(64)
        equal(f.read(64), data[64:128], "seeking")
    equal(m.write("clear"), 0, "clear")
    equal(len(m.read("kpdata")), 128, "clear")


@case
def other_files(m):
    """mpstat, kptrace, kprintx, README, and a mark that a program sets."""
    for name, text, row in (("mpstat", m.text("mpstat"), 7 + 24 * 4 + 2 * 3 + 2),
                            ("mpstat-raw", m.text("mpstat-raw"), 75)):
        equal([len(line) + 1 for line in text.splitlines()[1:]],
              [row] * (len(text.splitlines()) - 1), f"{name}: rows")
    equal(len(m.text("mpstat-raw").splitlines()[0]) + 1, 56, "mpstat-raw: header")
    equal(m.write("reset", "mpstat"), 0, "reset")
    idle = float(m.text("mpstat").splitlines()[1].split(")")[0].split()[1])
    check(idle < 5, "reset")
    equal(m.write("hello\n", "kptrace"), 0, "kptrace")
    check("/* hello */" in m.text("kptrace"), "kptrace")
    for text, want in (("on", "on\n"), ("toggle", "off\n"), ("toggle\n", "on\n"), ("off", "off\n")):
        equal(m.write(text, "kprintx"), 0, text)
        equal(m.text("kprintx"), want, f"kprintx {text}")
    check("kpctl" in m.text("README"), "README")
    equal(m.write("0x401234\n", "kpoprofile"), errno.EINVAL, "a mark while nothing is collected")
    equal(m.write("opclear\nopstart\n"), 0, "opstart")
    equal(m.write("0x401234\n", "kpoprofile"), 0, "a mark")
    equal(m.write("garbage\n", "kpoprofile"), errno.EINVAL, "no mark")
    equal(m.write("opstop\n"), 0, "opstop")
    equal([s[2] for s in samples(m.read("kpoprofile"))], [(0x401234,)], "the mark")


@case
def cores(m):
    """cpu/N/ctl, lists of cores, and cores that are not there."""
    equal(m.write("on\nopstart\n", "cpu/1/ctl"), 0, "core 1")
    spin(0.2, [1])
    status = m.status()
    equal((status["cpu0"]["tracing"], status["cpu1"]["tracing"]), ("off", "on"), "only core 1")
    equal(m.write("opstop\noff\n", "cpu/1/ctl"), 0, "core 1")
    check({s[0] for s in samples(m.read("kpoprofile")) or []} == {1}, "its samples")
    equal(m.write("optimer 0", "cpu/1/ctl"), errno.EINVAL, "other words")
    equal(m.write("optimer 0-1 on"), 0, "a range")
    equal(m.status()["cpu1"]["timer"], "on", "a range")
    equal(m.write("optimer 0,1 off"), 0, "a list")
    equal(m.write("optimer 0,99 on"), errno.ENXIO, "one that is not there")
    equal(m.status()["cpu0"]["timer"], "off", "then none is")
    check(not os.path.exists(m.file("cpu/99")) and not os.path.exists(m.file("cpu/01")), "cpu/99")


@case
def sessions(m):
    """A session has all for itself, and is gone with its folder."""
    os.mkdir(m.file("s/mine"))
    equal(m.write("depth 9", "s/mine/kpctl"), 0, "a command")
    equal((m.status("s/mine/status")["depth"], m.status()["depth"]), ("9", "127"), "its own")
    equal(m.write("optimer all on\nopstart\n", "s/mine/kpctl"), 0, "start")
    time.sleep(0.2)
    equal(m.status()["tracing"], "off", "the first is not touched")
    equal(os.listdir(m.file("s")), ["mine"], "listed")
    with subprocess.Popen(["cat", m.file("s/mine/stream")], stdout=subprocess.DEVNULL) as reader:
        time.sleep(0.2)
        os.rmdir(m.file("s/mine"))
        equal(reader.wait(5), 0, "its reader is at the end")
    check(not os.path.exists(m.file("s/mine/kpctl")), "gone")
    for name, code in ((".x", errno.EINVAL), ("a b", errno.EINVAL), ("x" * 64, errno.EINVAL)):
        try:
            os.mkdir(m.file("s/" + name))
            check(False, f"mkdir {name}")
        except OSError as e:
            equal(e.errno, code, f"mkdir {name}")


@case
def autostop(m):
    equal(m.write("autostop 1\noptimer all on\nopstart\n"), 0, "start")
    time.sleep(1.6)
    status = m.status()
    equal((status["tracing"], status["cpu0"]["timer"]), ("off", "off"), "it stopped itself")
    equal(m.write("autostop 0\nopclear\n"), 0, "off again")


@case
def own_samples(m):
    """The daemon does not sample itself."""
    equal(m.write("opclear\noptimer all on\nopstart\n"), 0, "start")
    for _ in range(300):
        m.text("status")
    equal(m.write("opstop\noptimer all off\n"), 0, "stop")
    check(f"# pid {m.daemon.pid}\n" not in m.text("maps"), "it is not in the maps")


def case_unmount():
    """Unmounting while samples are collected ends the daemon; so do signals."""
    with Mount(AUGER) as m:
        equal(m.write("optimer all on\nopstart\n"), 0, "start")
        subprocess.run(["fusermount3", "-u", m.path], check=True)
        equal(m.daemon.wait(5), 0, "it ends with the mount")
    with Mount(AUGER) as m:
        equal(m.write("optimer all on\nopstart\n"), 0, "start")
        with subprocess.Popen(["cat", m.file("cpu/0/kpoprofile")], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as reader:
            time.sleep(0.2)
            m.daemon.send_signal(signal.SIGTERM)
            equal(m.daemon.wait(5), 0, "SIGTERM ends it")
            check(reader.wait(5) is not None, "its reader ends")
        check(not os.path.ismount(m.path), "nothing is mounted")
    with Mount(AUGER) as m:
        equal(m.write("optimer all on\nopstart\n"), 0, "start")
        m.daemon.kill()
        m.daemon.wait()


def case_background():
    """Without --foreground the shell goes on when all is there."""
    path = tempfile.mkdtemp(prefix="auger-control-")
    try:
        done = subprocess.run([AUGER, "control", path], capture_output=True, text=True, timeout=20,
                              check=False)
        equal((done.returncode, done.stderr), (0, ""), "mounting")
        check(os.path.ismount(path), "it is mounted")
        with open(os.path.join(path, "last_error"), encoding="ascii") as f:
            equal(f.read(), "ok\n", "it answers")
    finally:
        subprocess.run(["fusermount3", "-u", path], check=False)
        for _ in range(100):
            if not os.path.ismount(path):
                break
            time.sleep(0.05)
        os.rmdir(path)


def case_rights():
    """Others see nothing; a group that is named does; who may not sample is told why."""
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def nobody(line):
        return subprocess.run([*as_nobody, "sh", "-c", line], capture_output=True, text=True,
                              timeout=10, check=False)
    with Mount(AUGER) as m:
        check(nobody(f"cat {m.path}/status").returncode != 0, "others may not read")
        equal(os.stat(m.file("kpctl")).st_mode & 0o777, 0o600, "kpctl")
    with Mount(AUGER, "--group", "65534") as m:
        equal(nobody(f"cat {m.path}/last_error").stdout, "ok\n", "the group reads")
        equal(nobody(f"echo depth 3 >{m.path}/kpctl").returncode, 0, "the group writes")
        for name, mode in (("kpctl", 0o660), ("status", 0o440), ("s", 0o770), ("cpu", 0o550)):
            equal(os.stat(m.file(name)).st_mode & 0o777, mode, name)
        other = subprocess.run(["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups",
                                "cat", m.file("status")], capture_output=True, check=False)
        check(other.returncode != 0, "others still may not")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) < 1:
            return  # who may not sample: nobody
    folder = tempfile.mkdtemp()
    copy = shutil.copy(AUGER, folder)
    os.chmod(folder, 0o755)
    done = nobody(f"{copy} control {folder}")
    shutil.rmtree(folder)
    equal(done.returncode, 1, "without the right to sample")
    check("CAP_PERFMON" in done.stderr, "which one: " + done.stderr)


HOLD = """import os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held, refused = [], set()
for i in range(int(sys.argv[2])):
    try: held.append(os.open(sys.argv[1], os.O_RDONLY))
    except OSError as e: refused.add(e.errno)
print(len(held), *refused, flush=True)
sys.stdin.read()"""


def held_open(path, count, user):
    """A process that holds path open as often as it can, of count times; how often, and the errnos of the others."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path, str(count)], user=user, group=65534, extra_groups=[],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    opened, *refused = map(int, holder.stdout.readline().split())
    return holder, opened, refused


def case_bounds():
    """10,000 opens of another user stop at a bound of that user. The owner is served, and what is closed counts no more."""
    with Mount(AUGER, "--group", "65534") as m:
        equal(m.write("optimer all on\nopstart\n"), 0, "collecting")
        for name, most in (("stream", 8), ("status", 1024), ("maps", 1024)):
            holder, opened, refused = held_open(m.file(name), 10000 if name == "stream" else 1100, 65534)
            with holder:
                check(0 < opened <= most, f"{name}: {opened} opens")
                equal(refused, [errno.EMFILE], f"{name}: the others")
                own, own_opened, _ = held_open(m.file("stream"), 4, 0)
                with own:
                    equal(own_opened, 4, f"{name}: the owner opens streams")
                    check("tracing on" in m.text("status"), f"{name}: the owner reads")
                    own.stdin.close()
                holder.stdin.close()
        with open(f"/proc/{m.daemon.pid}/status", encoding="ascii") as f:
            rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))
        with open(AUGER, "rb") as f:
            is_sanitized = b"__asan_init" in f.read()  # keeps what was freed
        check(rss < 256 << 10 or is_sanitized, f"memory: {rss} KiB")
        made = sum(subprocess.run(["mkdir", m.file(f"s/{i}")], user=65534, group=65534, extra_groups=[],
                                  stderr=subprocess.DEVNULL, check=False).returncode == 0 for i in range(40))
        equal(made, 24, "sessions of others")
        os.mkdir(m.file("s/own"))
        holder, opened, _ = held_open(m.file("stream"), 4, 65534)
        with holder:
            equal(opened, 4, "after all is closed")
            holder.stdin.close()


def main():
    alone = [case_unmount, case_background, case_rights, case_bounds]
    print(f"1..{len(CASES) + len(alone)}")
    with Mount(AUGER) as m:
        results = [(function, (m,)) for function in CASES]
        for number, (function, arguments) in enumerate(results, 1):
            run(number, function, arguments)
    for number, function in enumerate(alone, len(CASES) + 1):
        run(number, function, ())


def run(number, function, arguments):
    failures.clear()
    try:
        function(*arguments)
    except (OSError, RuntimeError, subprocess.SubprocessError, KeyError, ValueError) as e:
        failures.append(str(e))
        print(f"{function.__name__}: {e!r}", file=sys.stderr)
    print(f"{'not ok' if failures else 'ok'} {number} - {function.__name__}", flush=True)


if os.getuid() or not os.path.exists("/dev/fuse") or not shutil.which("fusermount3"):
    print("1..0 # SKIP needs root and FUSE")
else:
    main()
