#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cache.py AUGER CACHE_OPS FAULTY: a view of a folder beside the folder itself, in the same run.

What the kernel answers itself, every call with --exact (beside Copper's figures of its document, for
two CPUs), a cold walk, an import that is cold, warm and prefetched, also from a storage that takes
DELAY_US (environment, default 500) for each answer, and memory for each path that is known."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from cache_tree import fill

AUGER, OPS, FAULTY = (os.path.realpath(p) for p in sys.argv[1:4])
SECONDS, ROUNDS = os.environ.get("SECONDS_EACH", "1.5"), 5
DELAY_US = os.environ.get("DELAY_US", "500")
COPPER = {"stat": 3534, "stat_at": 11257, "absent": 7575, "readdir": 1067, "readdir_small": 2379, "small": 2271,
          "pread": 24329}  # operations a second
TREE = "/usr/lib/python3"


class View:
    """A mount for the time of a with."""

    def __init__(self, target, view, *options):
        self.view, self.options = view, ("--target", target, *options)
        self.daemon = None

    def __enter__(self):
        self.daemon = subprocess.Popen([AUGER, "cache", "mount", "-f", *self.options, self.view], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True, env=dict(os.environ, AUGER_LOG="cache=info"))
        self.wait_for("ready after")
        return self

    def wait_for(self, words):
        while words not in (self.daemon.stderr.readline() or words):
            pass

    def memory(self):
        with open(f"/proc/{self.daemon.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS:"))

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.communicate()


def measure(kind, roots, threads=1):
    done = subprocess.run([OPS, kind, SECONDS, str(threads), *roots], check=True, capture_output=True, text=True)
    return [float(n) for n in done.stdout.split()]


def operations(target, view):
    with View(target, view):
        for kind in ("stat", "stat_at", "absent", "readdir", "readdir_small", "read", "pread", "map", "small"):
            plain, ours = measure(kind, (target, view))
            print(f"{kind:14} plain {plain:16.0f}/s, view {ours:16.0f}/s: {ours / plain:.2f}", flush=True)
    with View(target, view, "--exact"):
        for kind, copper in COPPER.items():
            plain, ours = measure(kind, (target, view))
            print(f"{kind:14} --exact {ours:10.0f}/s: {ours / plain:.3f} of plain, Copper {copper}/s: {ours / copper:.1f} times",
                  flush=True)
        rates = [measure("stat", (view,), threads)[0] for threads in (1, 2, 4, 8)]
        print("stat --exact with 1, 2, 4, 8 threads: " + ", ".join(f"{r:.0f}/s" for r in rates), flush=True)


def walk(root):
    begin, count = time.monotonic(), 0
    for folder, folders, files in os.walk(root):
        count += len(folders) + len(files)
        for name in files:
            with open(os.path.join(folder, name), "rb") as f:
                f.read()
    return time.monotonic() - begin, count


def import_once(root):
    begin = time.monotonic()
    subprocess.run(["/usr/bin/python3", "-c", "import scipy.stats, pandas"], check=True, cwd="/",
                   env=dict(os.environ, PYTHONHOME=root.rstrip("/") + "/usr", PYTHONDONTWRITEBYTECODE="1"))
    return time.monotonic() - begin


def middle(numbers):
    return sorted(numbers)[len(numbers) // 2]


def show(what, plain, **rows):
    print(f"{what}: plain {plain:.3f} s, " + ", ".join(f"{k} {v:.3f} s ({v / plain:.2f})" for k, v in rows.items()), flush=True)


def walks(view):
    rows = {"plain": [], "cold": [], "warm": []}
    for _ in range(ROUNDS):
        rows["plain"].append(walk(TREE)[0])
        with View(TREE, view) as v:
            before = v.memory()
            rows["cold"].append(walk(view)[0])
            rows["warm"].append(walk(view)[0])
    show(f"walk of {TREE}, all read", *[middle(r) for r in (rows.pop("plain"),)], **{k: middle(r) for k, r in rows.items()})
    with View(TREE, view) as v:
        before = v.memory()
        count = sum(1 for folder, folders, files in os.walk(view) for name in folders + files
                    if os.lstat(os.path.join(folder, name)))
        print(f"memory: {(v.memory() - before) / count:.0f} bytes for each of {count} paths that were looked at", flush=True)


def paths_of_import(target, view):
    """As a previous run left them: what was opened and what was looked for."""
    done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=file", "-o", "/dev/stdout", "/usr/bin/python3", "-c",
                           "import scipy.stats, pandas"], capture_output=True, text=True, check=True, cwd="/")
    paths = {}
    for line in done.stdout.splitlines():
        if '"/usr/' in line:
            paths['/usr/' + line.split('"/usr/', 1)[1].split('"')[0]] = None
    return list(paths)


def imports(target, view, folder, what, options=()):
    rows = {"plain": [], "cold": [], "warm": [], "prefetched": []}
    lists = f"{folder}/list"
    with open(lists, "w", encoding="utf-8") as f:
        f.write("".join(p + "\n" for p in paths_of_import(target, view)))
    import_once(target)
    for _ in range(ROUNDS if not options else 2):
        rows["plain"].append(import_once(target))
        with View(target, view):
            rows["cold"].append(import_once(view))
            import_once(view)
            rows["warm"] += [import_once(view) for _ in range(3)]
            rows["plain"] += [import_once(target) for _ in range(0 if options else 3)]
        with View(target, view, "--prefetch", lists) as v:
            v.wait_for("prefetched")
            rows["prefetched"].append(import_once(view))
    show(f"import scipy.stats, pandas{what}", middle(rows.pop("plain")), **{k: middle(r) for k, r in rows.items()})


def slow_imports(view, folder):
    slow = f"{folder}/slow"
    os.mkdir(slow)
    rules = f"{folder}/rules"
    with open(rules, "w", encoding="ascii"):
        pass
    with subprocess.Popen([FAULTY, "/", rules, slow], env=dict(os.environ, FAULTY_DELAY_US=DELAY_US),
                          stderr=subprocess.DEVNULL) as process:
        while not os.path.ismount(slow):
            time.sleep(0.01)
        try:
            imports(slow, view, folder, f" from storage that takes {DELAY_US} us an answer", ("slow",))
        finally:
            subprocess.run(["umount", "-l", slow], check=False)
            process.terminate()


def main():
    if os.getuid() or not os.path.exists("/dev/fuse"):
        print("needs root and FUSE")
        return
    folder = tempfile.mkdtemp(prefix="auger-bench-")
    target, view = f"{folder}/target", f"{folder}/view"
    os.mkdir(view)
    try:
        fill(target)
        operations(target, view)
        walks(view)
        done = subprocess.run(["/usr/bin/python3", "-c", "import scipy.stats, pandas"], capture_output=True, check=False)
        if done.returncode or not shutil.which("strace"):
            print("import: needs python3-scipy, python3-pandas and strace")
            return
        imports("/", view, folder, "")
        slow_imports(view, folder)
    finally:
        shutil.rmtree(folder)


main()
