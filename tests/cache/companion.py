#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""companion.py AUGER: the threads that answer one asker each on its CPU: they come, they go, and whom they answer gets on
where others want all the CPUs."""
import ctypes
import os
import signal
import subprocess
import sys
import time

import views

PATIENCE_S = 60
FILES = 50
SCHED_RESET_ON_FORK = 0x40000000
PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23  # as linux/prctl.h and linux/capability.h have them
LIBC = ctypes.CDLL(None)
ASK = """import os, sys
for i in range(int(sys.argv[2])):
    assert os.stat(f"{sys.argv[1]}/{i % 50}").st_size == i % 50
"""

BURSTS = """import os, sys, time
longest, until = 0, time.monotonic() + 1
while time.monotonic() < until:
    for i in range(20):
        begin = time.monotonic()
        os.stat(f"{sys.argv[1]}/{i}")
        longest = max(longest, time.monotonic() - begin)
    time.sleep(0.001)
print(longest)
"""


def fill(bench):
    for i in range(FILES):
        with open(f"{bench.target}/{i}", "wb") as f:
            f.write(bytes(i))


def asker(bench, count):
    return subprocess.Popen([sys.executable, "-c", ASK, bench.view, str(count)], stdin=subprocess.DEVNULL)


def policy(tid):
    try:
        return os.sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK
    except ProcessLookupError:
        return None


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.001)


def has_right():
    """To raise priorities: else companions keep theirs when they go."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice - 1)
    except PermissionError:
        return False
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    return True


def running():
    with open("/proc/loadavg", encoding="utf-8") as f:
        return int(f.read().split()[3].split("/")[0])


def is_accompanied(daemon):
    return any(policy(int(tid)) == os.SCHED_IDLE for tid in os.listdir(f"/proc/{daemon.pid}/task"))


def test_comes_and_goes(bench):
    fill(bench)
    daemon = bench.mount("--exact")
    assert not is_accompanied(daemon)
    asks = asker(bench, 1 << 30)
    try:
        wait_for(lambda: is_accompanied(daemon), "no companion")
    finally:
        asks.kill()
        asks.wait()
    wait_for(lambda: not is_accompanied(daemon), "it does not go")


def test_single_thread(bench):
    fill(bench)
    daemon = bench.mount("--exact", "-s")
    assert asker(bench, 2000).wait(PATIENCE_S) == 0
    assert not is_accompanied(daemon)


def test_crowded(bench):
    """On each CPU somebody computes, with the asker bound to one of them."""
    fill(bench)
    bench.mount("--exact")
    cpus = os.sched_getaffinity(0)
    hogs = [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"])
            for cpu in cpus]
    try:
        asks = asker(bench, 2000)
        os.sched_setaffinity(asks.pid, {min(cpus)})
        assert asks.wait(PATIENCE_S) == 0
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def asks_a_second(bench, *options):
    """What one asker gets where two others compute on each CPU."""
    daemon = bench.mount("--exact", *options)
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        count, until = 0, time.monotonic() + 1
        while time.monotonic() < until:
            os.stat(f"{bench.view}/{count % FILES}")
            count += 1
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    subprocess.run(["umount", bench.view], check=True)
    assert daemon.wait(PATIENCE_S) == 0
    return count


def test_starves_nobody(bench):
    """One that gets an answer now and then does not get on: whom it answers would wait for each."""
    fill(bench)
    rounds = [(asks_a_second(bench), asks_a_second(bench, "-s")) for _ in range(5)]
    assert sum(5 * with_it > without for with_it, without in rounds) >= 3, rounds


def longest_wait(bench):
    """Of three that ask in short bursts, where eight others compute on each CPU."""
    daemon = bench.mount("--exact")
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8 * len(os.sched_getaffinity(0)))]
    asks = [subprocess.Popen([sys.executable, "-c", BURSTS, bench.view], stdout=subprocess.PIPE) for _ in range(3)]
    try:
        return max(float(one.communicate(timeout=PATIENCE_S)[0]) for one in asks)
    finally:
        for process in hogs + asks:
            process.kill()
            process.wait()
        subprocess.run(["umount", bench.view], check=True)
        assert daemon.wait(PATIENCE_S) == 0


def test_waits_for_no_companion(bench):
    """One that was called and gets no time holds up nobody: not who calls it, nor who reads for it then."""
    fill(bench)
    waits = [longest_wait(bench) for _ in range(8)]
    assert sorted(waits)[-2] < 0.5, waits


def test_without_the_right(bench):
    """Who may not raise a priority lowers none while others compute on all CPUs: with a request in hand, it would wait for
    them."""
    fill(bench)
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        wait_for(lambda: running() >= len(hogs), "they do not compute")
        daemon = bench.mount("--exact", preexec_fn=lambda: LIBC.prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0))
        asks = asker(bench, 5000)
        while asks.poll() is None:
            assert not is_accompanied(daemon)
        assert asks.wait() == 0
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def cpus_of(daemon):
    """Where there are companions, which alone are bound."""
    found = set()
    for tid in os.listdir(f"/proc/{daemon.pid}/task"):
        try:
            cpus = os.sched_getaffinity(int(tid))
        except ProcessLookupError:
            continue
        if policy(int(tid)) == os.SCHED_IDLE and len(cpus) == 1:
            found |= cpus
    return found


def test_two_askers(bench):
    fill(bench)
    bench.mount("--exact")
    assert all([a.wait(PATIENCE_S) == 0 for a in [asker(bench, 5000), asker(bench, 5000)]])


def test_two_companions(bench):
    """Each asker has its own, on its CPU; an asker that moves is followed."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        return
    fill(bench)
    daemon = bench.mount("--exact")
    asks = [asker(bench, 1 << 30) for _ in cpus]
    try:
        for one, cpu in zip(asks, cpus):
            os.sched_setaffinity(one.pid, {cpu})
        wait_for(lambda: cpus_of(daemon) == set(cpus), "not one for each")
        asks.pop().kill()
        wait_for(lambda: cpus_of(daemon) == {cpus[0]}, "two for one")
        os.sched_setaffinity(asks[0].pid, {cpus[1]})
        wait_for(lambda: cpus_of(daemon) == {cpus[1]}, "it does not follow")
    finally:
        for one in asks:
            one.kill()


def test_more_askers_than_cpus(bench):
    fill(bench)
    bench.mount("--exact")
    assert all([a.wait(PATIENCE_S) == 0 for a in [asker(bench, 2000) for _ in range(4 * len(os.sched_getaffinity(0)))]])


def test_ends_while_asked(bench):
    fill(bench)
    daemon = bench.mount("--exact")
    asks = subprocess.Popen([sys.executable, "-c", "import os, sys\nwhile os.path.ismount(sys.argv[1]):\n  os.stat(sys.argv[1])",
                             bench.view], stderr=subprocess.DEVNULL)
    wait_for(lambda: is_accompanied(daemon), "no companion")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(PATIENCE_S) == 0
    asks.wait(PATIENCE_S)


NEED_RIGHT = ("test_comes_and_goes", "test_two_companions", "test_ends_while_asked")
sys.exit(views.main({name: it for name, it in globals().items() if has_right() or name not in NEED_RIGHT}))
