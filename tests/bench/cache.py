#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cache.py AUGER CACHE_OPS FAULTY: a view of a folder beside the folder itself, in the same run.

What the kernel answers itself; data that the kernel does not have but the view's process (cold); every call with --exact (beside
Copper's figures in spec/cache.md, C3, for two CPUs: operations a second, and their ratio to the plain folder of that machine); a
cold walk; an import that is cold, warm and prefetched, with the messages that the kernel sends for it, also from a storage that takes
DELAY_US (environment, default 500) for each answer; memory when idle, of data, and for each path that is known. The plain
folder is looked at through a mount of its own, by paths as long as those of the view."""
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import bench
from cache_tree import fill
from cache_turns import rates, take_turns

AUGER, OPS, FAULTY = (os.path.realpath(p) for p in sys.argv[1:4])
SECONDS, ROUNDS = os.environ.get("SECONDS_EACH", "1.5"), 5
DELAY_US = os.environ.get("DELAY_US", "500")
COPPER = {"stat": (3534, 0.0045), "stat_at": (11257, 0.0125), "absent": (7575, 0.0067), "readdir": (1067, 0.52),
          "readdir_small": (2379, 0.030), "small": (2271, 0.011), "pread": (24329, 0.026)}
GOALS = {"stat": 0.8, "absent": 0.75, "small": 0.5, "map": 0.95, "map_cold": 0.3, "readdir": 1.0}  # of the plain folder
TREE = "/usr/lib/python3"
MIB = 1 << 20
PYTHON = "/usr/bin/python3"
# What is imported: the first that is installed.
IMPORTS = ("scipy.stats, pandas", "asyncio, bz2, concurrent.futures, csv, ctypes, curses, decimal, doctest, email.mime.text, ftplib, http.server, imaplib, "
           "json, logging.handlers, lzma, multiprocessing, pdb, pydoc, smtplib, sqlite3, ssl, tarfile, unittest, urllib.request, xml.sax, "
           "xml.etree.ElementTree, xmlrpc.client, zipfile")
ABSENT_S = 2.5  # more than --enoent-ttl: from then on names that are not there come from their folder's names


class View:
    """A mount for the time of a with."""

    def __init__(self, target, view, *options):
        self.view, self.options = view, ("--target", target, *options)
        self.daemon = None

    def __enter__(self):
        self.daemon = subprocess.Popen([AUGER, "cache", "mount", "--foreground", *self.options, self.view], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True, env=dict(os.environ, AUGER_LOG="cache=info"))
        self.wait_for("ready after")
        return self

    def wait_for(self, words):
        while words not in (self.daemon.stderr.readline() or words):
            pass

    def messages(self):
        """Replies so far: the kernel's messages, but for those that need none."""
        with open(f"/proc/{self.daemon.pid}/io", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("syscw:"))

    def data(self):
        """Bytes of files in the process's memory, and of what belongs to them."""
        done = subprocess.run([AUGER, "cache", "stats", "-f", "json", self.view], capture_output=True, text=True, check=True)
        return next(row["used_bytes"] for row in json.loads(done.stdout)["rows"] if row["table"] == "data")

    def memory(self):
        with open(f"/proc/{self.daemon.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS:"))

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.communicate()


class Bind:
    """The plain folder as a mount: a file system has one, too. Nothing can be removed there."""

    def __init__(self, target, place):
        self.target, self.place = target, place

    def __enter__(self):
        subprocess.run(["mount", "--bind", "-o", "ro", self.target, self.place], check=True)

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.place], check=True)


def measure(kind, roots, threads=1):
    return rates(take_turns(OPS, kind, SECONDS, roots, threads))


def operations(target, plain, view):
    with Bind(target, plain), View(target, view):
        for kind in ("read", "read_cold", "pread", "map", "map_cold", "read_large", "map_large", "stat", "stat_at", "absent", "readdir",
                     "readdir_small", "small"):
            base, ours = measure(kind, (plain, view))
            print(f"{kind:14} plain {base:16.0f}/s, view {ours:16.0f}/s: {ours / base:.2f}", flush=True)
            bench.row(kind, ours, "/s", "plain folder", base, least=GOALS.get(kind))
    with Bind(target, plain), View(target, view, "--passthrough"):
        with open(f"{view}/large", "rb") as f:
            f.read()
        for kind in ("read_large", "map_large", "small"):
            base, ours = measure(kind, (plain, view))
            print(f"{kind:14} --passthrough: plain {base:16.0f}/s, view {ours:16.0f}/s: {ours / base:.2f}", flush=True)
            bench.row(f"{kind} --passthrough", ours, "/s", "plain folder", base)
    with Bind(target, plain), View(target, view, "--exact"):
        for kind, (rate, ratio) in COPPER.items():
            base, ours = measure(kind, (plain, view))
            print(f"{kind:14} --exact {ours:10.0f}/s, {ours / base:.3f} of plain: Copper's {rate}/s {ours / rate:.1f} times, "
                  f"its ratio {ours / base / ratio:.1f} times", flush=True)
            bench.row(f"{kind} --exact", ours, "/s", "Copper, quoted", rate)
            bench.row(f"{kind} --exact over plain", ours / base, "", "Copper's, quoted", ratio)
        for kind in ("stat_at", "pread"):
            sums = [measure(kind, (view,), threads)[0] for threads in (1, 2, 4, 8)]
            print(f"{kind} --exact with 1, 2, 4, 8 threads: " + ", ".join(f"{r:.0f}/s" for r in sums), flush=True)


def walk(root):
    begin, count = time.monotonic(), 0
    for folder, folders, files in os.walk(root):
        count += len(folders) + len(files)
        for name in files:
            try:
                with open(os.path.join(folder, name), "rb") as f:
                    f.read()
            except FileNotFoundError:
                pass  # a link that leads out of the tree
    return time.monotonic() - begin, count


@functools.lru_cache
def wanted():
    return next((names for names in IMPORTS
                 if subprocess.run([PYTHON, "-c", f"import {names}"], capture_output=True, check=False).returncode == 0), None)


def import_once(root):
    begin = time.monotonic()
    subprocess.run([PYTHON, "-c", f"import {wanted()}"], check=True, cwd="/",
                   env=dict(os.environ, PYTHONHOME=root.rstrip("/") + "/usr", PYTHONDONTWRITEBYTECODE="1"))
    return time.monotonic() - begin


def middle(numbers):
    return sorted(numbers)[len(numbers) // 2]


def show(what, plain, **rows):
    print(f"{what}: plain {plain:.3f} s, " + ", ".join(f"{k} {v:.3f} s ({v / plain:.2f})" for k, v in rows.items()), flush=True)
    for name, seconds in rows.items():
        bench.row(f"{what}, {name}", seconds, "s", "plain folder", plain)


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
        bench.row("memory of a path", (v.memory() - before) / count, "bytes")


def paths_of_import():
    """As a previous run left them: what was opened and what was looked for."""
    done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=file", "-o", "/dev/stdout", PYTHON, "-c", f"import {wanted()}"],
                          capture_output=True, text=True, check=True, cwd="/")
    paths = {}
    for line in done.stdout.splitlines():
        if '"/usr/' in line:
            paths['/usr/' + line.split('"/usr/', 1)[1].split('"')[0]] = None
    return list(paths)


def imports(target, plain, view, folder, what, warm=12):
    rows = {"plain": [], "cold": [], "warm": [], "prefetched": []}
    messages = {"cold": 0, "warm": 0}
    lists = f"{folder}/list"
    with open(lists, "w", encoding="utf-8") as f:
        f.write("".join(f"{target.rstrip('/')}{p}\n" for p in paths_of_import()))
    import_once(plain)
    for _ in range(ROUNDS if warm else 2):
        rows["plain"].append(import_once(plain))
        with View(target, view) as v:
            before, idle = v.messages(), v.memory()
            rows["cold"].append(import_once(view))
            messages["cold"] = v.messages() - before
            memory, data = v.memory(), v.data()
            time.sleep(ABSENT_S)
            import_once(view)
            before = v.messages()
            for _ in range(warm):
                rows["plain"].append(import_once(plain))
                rows["warm"].append(import_once(view))
                messages["warm"] = (v.messages() - before) // warm
        with View(target, view, "--prefetch", lists) as v:
            v.wait_for("prefetched")
            rows["prefetched"].append(import_once(view))
    show(f"import {wanted()[:19]}{what}", middle(rows.pop("plain")), **{k: middle(r) for k, r in rows.items() if r})
    print(f"messages of the kernel: cold import {messages['cold']}, warm {messages['warm']}; memory: idle {idle / MIB:.1f} MiB, after the "
          f"import {memory / MIB:.1f} MiB with {data / MIB:.1f} MiB of data: {memory / data:.2f}", flush=True)
    bench.row(f"messages of a cold import{what}", messages["cold"], "")
    bench.row(f"messages of a warm import{what}", messages["warm"], "")
    bench.row(f"memory when idle{what}", idle / MIB, "MiB", most=5)
    bench.row(f"memory after an import over data{what}", memory, "bytes", "data", data, most=1.2)


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
            imports(slow, slow, view, folder, f" from storage that takes {DELAY_US} us an answer", 0)
        finally:
            subprocess.run(["umount", "-l", slow], check=False)
            process.terminate()


def main():
    if os.getuid() or not os.path.exists("/dev/fuse"):
        print("needs root and FUSE")
        return
    folder = tempfile.mkdtemp(prefix="auger-bench-")
    target, plain, view = (f"{folder}/{name}" for name in ("target", "plain", "cache"))
    os.mkdir(plain)
    os.mkdir(view)
    try:
        fill(target)
        operations(target, plain, view)
        walks(view)
        if not wanted() or not shutil.which("strace"):
            print("import: needs python3 and strace")
            return
        with Bind("/", plain):
            imports("/", plain, view, folder, "")
        slow_imports(view, folder)
    finally:
        shutil.rmtree(folder)


main()
