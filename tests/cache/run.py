#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py AUGER: a command with its files served through a view that ends with it."""
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import views

AUGER = views.AUGER


class Bench:
    """A target with a program and a Python library, and a folder for temporary files."""

    def __init__(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="auger-run-"))
        self.target, self.tmp, self.job = (f"{self.dir}/{name}" for name in ("target", "tmp", "job"))
        os.makedirs(f"{self.target}/bin")
        os.makedirs(f"{self.target}/lib")
        os.mkdir(self.tmp)
        with open(f"{self.target}/lib/answer.py", "w", encoding="ascii") as f:
            f.write("VALUE = 42\n")
        with open(f"{self.target}/bin/where", "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho \"$0\"\n")
        os.chmod(f"{self.target}/bin/where", 0o755)
        self.env = dict(os.environ, TMPDIR=self.tmp, PATH=f"{self.target}/bin:{os.environ['PATH']}",
                        PYTHONPATH=f"{self.target}/lib:/elsewhere", MORE=f"{self.target}/lib", PYTHONDONTWRITEBYTECODE="1")

    def run(self, *words, target=None, cwd=None, **more):
        return subprocess.run([AUGER, "cache", "run", "--target", target or self.target, *words], cwd=cwd,
                              env=dict(self.env, **more), text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60, check=False)

    def looked_up(self):
        """The paths that were looked up, listed or read in the last job."""
        paths = set()
        for file in glob.glob(f"{self.job}/tables/final/*_table_cache_event.output"):
            with open(file, encoding="utf-8") as f:
                paths |= {line.removesuffix(" {\n") for line in f if line.startswith("/")}
        return paths

    def start(self, *words):
        return subprocess.Popen([AUGER, "cache", "run", "--target", self.target, *words], env=self.env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def mounts(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return [line.split()[4] for line in f if f" {self.dir}/" in line]

    def daemon(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return int(re.search(rf" {re.escape(self.tmp)}/.* auger:(\d+):", f.read())[1])

    def check_gone(self):
        assert not self.mounts(), self.mounts()
        assert not os.listdir(self.tmp), os.listdir(self.tmp)

    def close(self):
        for view in self.mounts():
            subprocess.run(["umount", "-l", view], check=False)
        shutil.rmtree(self.dir)


FIVE_LINES = re.compile(r"""auger cache: [\d,]+ requests? to storage; [\d,]+ of [\d,]+ requests? answered from memory
auger cache: .+ read; .+ waiting for storage(?:, which is as fast as the cache)?
auger cache: slowest: (?:\S+ \S+ in [\d,]+ requests?: /.*|-)
auger cache:          (?:\S+ \S+ in [\d,]+ requests?: /.*|-)
auger cache: (?:--job-dir DIR keeps the profile; -v prints it|the profile is in /.*)
$""")


def ends_well(words):
    """The last five lines, and no Markdown before them."""
    return FIVE_LINES.search(words) and "##" not in words


def has_mounts():
    """May the command have a mount namespace? As root, or with user namespaces."""
    return subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 or \
        subprocess.run(["unshare", "-Um", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_variables(bench):
    """Programs and modules come from the view; standard output has only the command's; its status is passed on."""
    done = bench.run("--variables-only", "--env", "MORE", "--", "/usr/bin/python3", "-c",
                     "import answer, os, sys; print(answer.__file__, answer.VALUE, os.environ['MORE']); sys.exit(7)")
    assert done.returncode == 7, done
    file, value, more = done.stdout.split()
    view = file.removesuffix("/lib/answer.py")
    assert view.startswith(bench.tmp) and view.endswith("/view") and value == "42" and more == f"{view}/lib", done
    assert f"auger cache: PYTHONPATH={view}/lib:/elsewhere\n" in done.stderr, done
    assert f"auger cache: PATH={view}/bin:{os.environ['PATH']}\n" in done.stderr, done
    assert ends_well(done.stderr) and len(done.stderr.splitlines()) < 12, done
    bench.check_gone()
    done = bench.run("-v", "--", "where")
    assert FIVE_LINES.search(done.stderr) and "# Cache Profiling Summary" in done.stderr and "| `getattr` |" in done.stderr, done
    done = bench.run("--variables-only", "--", "where")
    assert done.stdout.endswith("/view/bin/where\n"), done
    done = bench.run("--variables-only", "--", f"{bench.target}/bin/where")
    assert done.stdout.endswith("/view/bin/where\n") and "auger cache: runs " in done.stderr, done
    bench.check_gone()


def test_mounts(bench):
    """Each path stays, and is read through the view, which is read-only."""
    if not has_mounts():
        return
    done = bench.run("--", "where")
    assert done.stdout == f"{bench.target}/bin/where\n", done
    assert f"auger cache: mounted from the view: {bench.target}\n" in done.stderr, done
    assert "PATH=" not in done.stderr, done
    done = bench.run("--", "/bin/sh", "-c", "cd \"$MORE\" && findmnt -no FSTYPE -T . && pwd && exec touch answer.py")
    assert done.stdout == f"fuse.auger\n{bench.target}/lib\n" and "Read-only" in done.stderr, done
    assert done.returncode == 1, done
    bench.check_gone()


def test_writable(bench):
    """The working directory, home and temporary folder are not mounted over, also inside the target."""
    if not has_mounts():
        return
    done = bench.run("--", "/bin/sh", "-c", "echo 1 >\"$HOME/out\" && exec touch \"$MORE/new\"", target=bench.dir,
                     HOME=bench.dir)
    assert done.returncode == 1 and os.path.exists(f"{bench.dir}/out"), done
    assert f"mounted from the view: {bench.target}/bin {bench.target}/lib\n" in done.stderr, done
    done = bench.run("--", "/bin/sh", "-c", "where && touch made && exec touch bin/new", cwd=bench.target)
    assert done.returncode == 1 and os.path.exists(f"{bench.target}/made") and "Read-only" in done.stderr, done
    done = bench.run("--", "findmnt", "-no", "FSTYPE", "-T", ".", target="/", cwd="/usr/lib")
    assert done.stdout == "fuse.auger\n", done
    bench.check_gone()


def make_pythons(bench):
    """Ways to start Python, and the paths that each must request."""
    def script(name, line):
        path = f"{bench.target}/bin/{name}"
        with open(path, "w", encoding="ascii") as f:
            f.write(f"#!{line}\nimport answer, json\nprint(json.__file__)\n")
        os.chmod(path, 0o755)
        return path
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", f"{bench.target}/venv"], check=True)
    package = glob.glob(f"{bench.target}/venv/lib/python3*/site-packages")[0] + "/answer.py"
    os.rename(f"{bench.target}/lib/answer.py", package)
    shutil.copy(package, f"{bench.target}/lib/answer.py")
    code = ["-c", "import answer, json; print(json.__file__)"]
    return [(["python3", *code], None), (["/usr/bin/python3", *code], None),
            ([script("absolute", "/usr/bin/python3")], None), ([script("by-env", "/usr/bin/env python3")], None),
            ([f"{bench.target}/venv/bin/python3", *code], package),
            ([script("of-venv", f"{bench.target}/venv/bin/python3")], package)]


def check_python(bench, words, package, *options):
    """Its library and imports are read through the view."""
    done = bench.run("--job-dir", bench.job, "--profile-paths", "--kernel-cache", "--copper-files", *options, "--", *words, target="/",
                     PATH=f"{bench.target}/bin:/usr/bin:/bin", **({"PYTHONPATH": ""} if package else {}))
    paths, library = bench.looked_up(), re.sub(r"^.*/view/", "/", done.stdout.strip())
    assert done.returncode == 0 and (package or f"{bench.target}/lib/answer.py") in paths, (words, done, paths)
    if not package or not options:  # an environment's Python goes by its own pyvenv.cfg, unless all is covered
        assert library in paths, (words, done, paths)
    bench.check_gone()
    shutil.rmtree(bench.job)


def test_pythons(bench):
    """By name, by path, by a script's interpreter, and in a virtual environment."""
    for words, package in make_pythons(bench):
        if has_mounts():
            check_python(bench, words, package)
        check_python(bench, words, package, "--variables-only")


def test_job(bench):
    done = bench.run("--job-dir", bench.job, "--profile-paths", "--copper-files", "--", "where")
    assert done.returncode == 0 and f"the profile is in {bench.job}/profiling/final" in done.stderr, done
    with open(glob.glob(f"{bench.job}/tables/final/*-md_table_cache_event.output")[0], encoding="utf-8") as f:
        assert f"\n{bench.target}/bin/where {{\n" in f.read()
    bench.check_gone()


def test_wrong(bench):
    for command, status, reason in (("no-such-program", 127, "command not found"), ("/nowhere/x", 127, "No such file or directory"),
                                    (f"{bench.target}/lib/answer.py", 126, "Permission denied"), ("/usr", 126, "Permission denied")):
        done = bench.run("--job-dir", bench.job, "--", command)
        assert (done.returncode, done.stderr) == (status, f"auger cache run: {command}: {reason}\n"), done
        assert not os.path.exists(bench.job)
    with open(f"{bench.target}/bin/bad", "w", encoding="ascii") as f:
        f.write("#!/no/such/interpreter\n")
    os.chmod(f"{bench.target}/bin/bad", 0o755)
    done = bench.run("--", "bad")
    assert done.returncode == 127 and "requests" not in done.stderr, done
    assert bench.run("--").returncode == 2
    assert bench.run("--budget", "1", "--", "true").returncode == 2
    done = subprocess.run([AUGER, "cache", "run", "--target", "/nowhere", "true"], env=bench.env, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 1 and "/nowhere" in done.stderr, done
    bench.check_gone()


def test_signals(bench):
    """The command gets the signal; then the view is unmounted, and the summary printed."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with bench.start("--", "/bin/sh", "-c", "cat \"$MORE\"/answer.py; exec sleep 100") as job:
            assert job.stdout.readline() == "VALUE = 42\n"
            job.send_signal(number)
            words = job.communicate(timeout=60)[1]
            assert job.returncode == 128 + number and ends_well(words), (job.returncode, words)
        bench.check_gone()


def test_deaf(bench):
    """A closed stderr does not stop the run or the cleanup. The command inherits our signal handling."""
    with bench.start("--", "/bin/sh", "-c", "trap; kill -PIPE $$; exit 3") as job:
        job.stderr.close()
        assert job.wait(60) == 128 + signal.SIGPIPE
        job.stderr = None
    bench.check_gone()


def test_killed(bench):
    """When auger is killed, the view is unmounted."""
    with bench.start("--", "/bin/sh", "-c", "echo on; exec sleep 100 >&- 2>&-") as job:
        assert job.stdout.readline() == "on\n"
        pid_fd = os.pidfd_open(bench.daemon())
        child = int(open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii").read().split()[-1])
        job.kill()
        job.wait()
        assert select.select([pid_fd], [], [], 60)[0]
        os.close(pid_fd)
        os.kill(child, signal.SIGKILL)
    assert not bench.mounts(), bench.mounts()


def test_killed_at_once(bench):
    """auger is killed before its daemon can ask for a signal then: the daemon ends itself."""
    if not shutil.which("strace") or subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False).returncode:
        return
    delay = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=prctl", "-e", "inject=prctl:delay_enter=300000"]
    traced = subprocess.Popen([*delay, AUGER, "cache", "run", "--target", bench.target, "--", "true"], env=bench.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def child_of(pid):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                return int(f.read().split()[0])
        except (OSError, IndexError):
            return 0

    try:
        auger = daemon = 0
        while traced.poll() is None and not daemon:
            auger = child_of(traced.pid)
            daemon = child_of(auger) if auger else 0
        os.kill(auger, signal.SIGKILL)
        traced.wait(60)  # for all that it traces
        assert not bench.mounts(), bench.mounts()
    finally:
        for view in bench.mounts():
            subprocess.run([AUGER, "cache", "umount", view], check=False)
        traced.wait(60)


def check_left(bench, *options):
    done = bench.run("--env", "MORE", *options, "--", "/bin/sh", "-c",
                     "cd \"$MORE\" && { sleep 100 >/dev/null 2>&1 & echo $!; }")
    try:
        assert done.returncode == 0 and ends_well(done.stderr), done
        assert f"in use by sleep ({done.stdout.strip()}); it is unmounted anyway" in done.stderr, done
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)
    begin = time.monotonic()
    while bench.mounts() and time.monotonic() - begin < 60:
        time.sleep(0.05)
    bench.check_gone()


def test_left(bench):
    """A process left in the view does not keep it mounted, and is named."""
    check_left(bench)
    check_left(bench, "--variables-only")


sys.exit(views.run_tests([(n, t) for n, t in list(globals().items()) if n.startswith("test_")], Bench))
