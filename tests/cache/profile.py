#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""profile.py AUGER: a mounted cache counts the calls that were made, in all of Copper's files.

Mounts, daemons and folders end with the test, also when it fails. Nothing waits for a time, only for what
must come.
"""
import contextlib
import csv
import errno
import fcntl
import glob
import gzip
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import views

AUGER = views.AUGER
OPERATIONS = ["operation", "total_calls", "cache_hits", "cache_misses", "negative_results", "avg_latency_us",
              "total_latency_s"]
METRICS = ["total_counted_fuse_operations", "total_cache_hits", "total_cache_misses", "total_negative_results",
           "estimated_cache_served_operations_saved_by_copper", "metadata_enoent_ttl_stores",
           "metadata_enoent_ttl_serves", "metadata_enoent_ttl_expires",
           "metadata_enoent_ttl_clears_on_success_or_non_enoent",
           "estimated_repeated_metadata_lookups_avoided_by_ttl", "total_measured_latency_seconds"]
TOP = ["category", "path", "total_events", "cache_hits", "cache_misses", "negative_results", "ttl_stores",
       "ttl_serves", "ttl_expires", "ttl_clears"]
PATHS = ["path", "getattr_calls", "read_calls", "readdir_calls", "cache_hits", "cache_misses", "negative_results",
         "bytes", "getattr_us", "read_us", "readdir_us"]
HEADINGS = ["# Copper Profiling Summary", "## Aggregate Operation Metrics", "## Derived High-Level Metrics"]
FULL = ("-profile_metrics", "-profile_top_n", "5", "-profile_paths_full")
DUMPS = {200: ("cache_tables", "tree_cache_table {"), 300: ("operation_count", "Aggregate Operation Counter {"),
         400: ("operation_time", "Aggregate Operation Time (microseconds) {"),
         500: ("operation_cache_hit", "Aggregate Operation Cache Hit {"),
         600: ("operation_cache_miss", "Aggregate Operation Cache Miss {"),
         1100: ("data_table_cache_event", "Data Cache Events {"),
         1200: ("tree_table_cache_event", "Tree Cache Events {"),
         1300: ("md_table_cache_event", "Metdata Cache Events {"),
         1700: ("operation_cache_neg", "Aggregate Operation Cache Negative {"),
         2200: ("ioctl_cache_event", "Ioctl Events {"), 2300: ("data_cache_size", None),
         2400: ("tree_cache_size", None), 2500: ("md_cache_size", "all entries should be 144 bytes")}


def auger(*words, check=True):
    done = subprocess.run([AUGER, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280,
                          check=False)
    assert not check or done.returncode == 0, done
    return done


def code_of(call, *args):
    try:
        call(*args)
    except OSError as e:
        return e.errno
    return 0


class Bench:
    """A target, a view of it and the folder of a job."""

    def __init__(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="auger-profile-"))
        self.target, self.view, self.job = (f"{self.dir}/{name}" for name in ("target", "view", "job"))
        for folder in (self.target, self.view, f"{self.target}/sub"):
            os.mkdir(folder)
        for name, size in (("a", 10), ("b", 300000), ("sub/c", 5000)):
            with open(f"{self.target}/{name}", "wb") as f:
                f.write(b"x" * size)
        self.words = ""
        self.is_mounted = False

    def mount(self, *options):
        done = auger("cache", "mount", "-tpath", self.target, "-log_output_dir", self.job, *options, self.view)
        assert re.search(r"ready after \d+ us, the target replied after \d+ us\n", done.stderr), done
        self.is_mounted = True
        return self

    def umount(self):
        auger("cache", "umount", self.view)
        self.is_mounted = False

    def close(self):
        if self.is_mounted and auger("cache", "umount", self.view, check=False).returncode:
            subprocess.run(["umount", "-l", self.view], check=False)
        shutil.rmtree(self.dir)

    def pid(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return int(re.search(rf" {self.view} .* auger:(\d+):", f.read())[1])

    def files(self, folder):
        """Base names without HOST-PID-."""
        found = os.listdir(f"{self.job}/{folder}")
        start = re.compile(re.escape(socket.gethostname()) + r"-\d+-")
        assert all(start.match(name) for name in found), found
        return sorted(start.sub("", name) for name in found)

    def path(self, folder, base):
        return glob.glob(f"{glob.escape(self.job)}/{folder}/*-{base}")[0]

    def read(self, folder, base):
        with open(self.path(folder, base), encoding="utf-8") as f:
            return f.read()

    def rows(self, folder, base, head):
        rows = list(csv.DictReader(self.read(folder, base).splitlines()))
        if rows:
            assert list(rows[0]) == head, rows[0]
        return rows

    def operations(self, folder="profiling/final", base="profiling_operations.csv"):
        return {row["operation"]: {k: float(row[k]) for k in OPERATIONS[1:]}
                for row in self.rows(folder, base, OPERATIONS)}

    def metrics(self, folder="profiling/final", base="profiling_aggregate.csv"):
        rows = self.rows(folder, base, ["metric", "value"])
        assert [row["metric"] for row in rows][:len(METRICS)] == METRICS, rows
        return {row["metric"]: float(row["value"]) for row in rows}


def events_of(text):
    """{path: its three counts} of one table of events."""
    found = re.findall(r"^(/.*) \{\ncache hits: (\d+),\ncache misses: (\d+),\nneg: (\d+)\n\}$", text, re.M)
    return {path: (int(a), int(b), int(c)) for path, a, b, c in found}


def test_counts(bench):
    """Each call is counted once, in total and for its path."""
    bench.mount(*FULL, "-md_enoent_ttl_ms", "60000")
    for _ in range(3):
        assert code_of(os.stat, f"{bench.view}/none") == errno.ENOENT
    for _ in range(4):
        with open(f"{bench.view}/b", "rb") as f:
            assert len(f.read()) == 300000
    for _ in range(2):
        assert sorted(os.listdir(f"{bench.view}/sub")) == ["c"]
    bench.umount()  # the files are there when it returns
    got = bench.operations()
    total = {k: sum(op[k] for op in got.values()) for k in OPERATIONS[1:]}
    metrics = bench.metrics()
    assert got["open"]["total_calls"] == 4 and got["opendir"]["total_calls"] == 2, got
    for op, most in (("release", 4), ("releasedir", 2)):  # the kernel drops those that are pending at the unmount
        assert got.get(op, {"total_calls": 0})["total_calls"] <= most, got
    assert got["getattr"]["negative_results"] == total["negative_results"] == 3, got
    assert got["read"]["cache_misses"] >= 1 and got["read"]["cache_hits"] >= 3, got
    assert got["open"]["cache_hits"] == 0, got  # the cache has no part in it
    for i, k in enumerate(("total_calls", "cache_hits", "cache_misses", "negative_results")):
        assert metrics[METRICS[i]] == total[k], (k, metrics, total)
    assert abs(metrics["total_measured_latency_seconds"] - total["total_latency_s"]) < 1e-5
    assert metrics["total_bytes_read"] == 4 * 300000
    tables = {name: events_of(bench.read("tables/final", f"{name}_table_cache_event.output"))
              for name in ("md", "data", "tree")}
    for name, op in (("md", "getattr"), ("data", "read"), ("tree", "readdir")):
        sums = [sum(counts[i] for counts in tables[name].values()) for i in range(3)]
        assert sums == [got[op][k] for k in OPERATIONS[2:5]], (name, sums, got[op])
    assert tables["md"][f"{bench.target}/none"] == (0, 0, 3), tables["md"]
    assert list(tables["data"]) == [f"{bench.target}/b"] and list(tables["tree"]) == [f"{bench.target}/sub"]
    paths = {row["path"]: row for row in bench.rows("profiling/final", "profiling_paths.csv", PATHS)}
    assert paths[f"{bench.target}/b"]["bytes"] == "1200000", paths
    assert float(paths[f"{bench.target}/b"]["read_us"]) > 0


def test_counts_of_replaced(bench):
    """A name of several files in turn is one path, with the requests of all."""
    bench.mount(*FULL)
    for i in range(3):
        with open(f"{bench.view}/a", "rb") as f:
            assert f.read() == (b"%d" % i * 10 if i else b"x" * 10)
        with open(f"{bench.target}/new", "wb") as f:
            f.write(b"%d" % (i + 1) * 10)
        os.rename(f"{bench.target}/new", f"{bench.target}/a")
        with open(f"{bench.view}/sub/c", "rb") as f:
            fcntl.ioctl(f, 100)  # asks the target again
    bench.umount()
    paths = [row["path"] for row in bench.rows("profiling/final", "profiling_paths.csv", PATHS)]
    assert len(paths) == len(set(paths)), paths
    events = re.findall(r"^/.* \{$", bench.read("tables/final", "data_table_cache_event.output"), re.M)
    assert events == [f"{bench.target}/a {{"], events
    assert events_of(bench.read("tables/final", "data_table_cache_event.output"))[f"{bench.target}/a"][1] == 3


def test_files(bench):
    """File names in all modes, Copper's headings, and the caching mode."""
    totals = ["profiling_aggregate.csv", "profiling_latency.csv", "profiling_operations.csv", "profiling_summary.md",
              "profiling_timeline.csv"]
    events = ["data_table_cache_event.output", "md_table_cache_event.output", "md_ttl_cache_event.output",
              "tree_table_cache_event.output"]
    top = sorted(totals + ["profile.pb.gz", "profiling_top_paths.csv"])
    few, two, full = ["profiling_summary.md"], ["profile.pb.gz", "profiling_summary.md"], sorted(top + ["profiling_paths.csv"])
    for options, mode, want, tables in (
            (["--profile"], "aggregate-only", few, []), (["--profile-top", "2"], "top-path", two, []),
            (["--profile-paths", "--kernel-cache"], "full-path", two, []),
            (["--profile", "--copper-files"], "aggregate-only", totals, []),
            (["--profile-paths", "--kernel-cache", "--copper-files"], "full-path",
             sorted(totals + ["profile.pb.gz", "profiling_paths.csv"]), events),
            (["-P"], "aggregate-only", totals, []), (["-N", "2"], "top-path", top, []),
            (["-P", "-N", "5", "-A", "-I", "3600"], "full-path", full, events),
            ([*FULL], "full-path", full, events), ([], None, [], [])):
        is_copper = want not in (few, two, [])
        bench.mount(*options)
        os.stat(f"{bench.view}/sub/c")
        code_of(os.stat, f"{bench.view}/sub/none")
        bench.umount()
        made = {os.path.relpath(path, bench.job) for path, _, _ in os.walk(bench.job)}
        if is_copper:
            assert bench.files("tables/final") == tables, (options, bench.files("tables/final"))
            assert {"logs", "profiling/cluster"} <= made, made
            assert bench.files("profiling/pre-destroy") == ["pre-destroy-" + name for name in want]
            assert "- Snapshot tag: `pre-destroy`\n" in bench.read("profiling/pre-destroy", "profiling_summary.md")
        else:
            assert made == ({".", "profiling", "profiling/final"} if want else {".", "logs"}), (options, made)
        if want:
            assert bench.files("profiling/final") == want, (options, bench.files("profiling/final"))
            text = bench.read("profiling/final", "profiling_summary.md")
            headings = [line for line in text.splitlines() if line in HEADINGS]
            assert headings == HEADINGS if is_copper else headings == HEADINGS[1:] and "Copper" not in text, text
            assert f"- Profiling mode: `{mode}`\n" in text and "Snapshot tag" not in text, text
            assert ("- Kernel caching: `off" in text) == (want == full), text
            assert ("\n## Path Class Heuristics\n" in text and "\n## Pruning Guidance\n" in text) == (want not in (few, totals))
        for row in bench.rows("profiling/final", "profiling_top_paths.csv", TOP) if "_top" in str(want) else []:
            assert row["path"].startswith(bench.target) and row["category"] in ("metadata", "metadata_ttl"), row
        shutil.rmtree(bench.job)


def test_log(bench):
    bench.mount("-log_level", "4", "-log_type", "both")  # as the help of Copper's launchers has it
    bench.umount()
    text = bench.read("logs", "output.log")
    line = re.compile(r"\d{4}-\d\d-\d\d \d\d-\d\d-\d\d\.\d{3} \[(Info|Warn|Error|Debug)\] \(\w+\) .+")
    assert all(line.fullmatch(one) for one in text.splitlines()), text
    for fact in (r"mounted after \d+ us", rf"first reply of storage after \d+ us; path={bench.target}", r"view ready after \d+ us"):
        assert len(re.findall(f" {fact}\n", text)) == 1, text
    shutil.rmtree(bench.job)
    bench.mount("-log_level", "0")
    bench.umount()
    assert bench.files("logs") == ["output.log"] and bench.read("logs", "output.log") == ""
    shutil.rmtree(bench.job)
    bench.mount("--profile", "--log-level", "1", "--log-to", "stdout")
    bench.umount()
    assert os.listdir(bench.job) == ["profiling"], os.listdir(bench.job)


def start_contained(bench, view):
    """Mounts as process 1 of a pid namespace, as in a container."""
    os.mkdir(view)
    done = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", AUGER, "cache", "mount", "--foreground", "-t", bench.target,
                             "--job-dir", bench.job, "--profile-paths", "--log-level", "4", "--log-to", "file", view],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    line = done.stderr.readline()
    assert "ready after" in line, line
    return done


def test_same_rank(bench):
    """Caches of one host name and one process id, concurrent and later ones, have files of their own."""
    places = [f"{bench.dir}/view{i}" for i in range(3)]
    names = [f"{socket.gethostname()}{nth}-1" for nth in ("", ".2", ".3")]
    with contextlib.ExitStack() as ends:
        for view in places:
            ends.callback(subprocess.run, ["umount", "-l", view], stderr=subprocess.DEVNULL, check=False)
        running = [ends.enter_context(start_contained(bench, view)) for view in places[:2]]
        for view, done in zip(places, running):
            os.stat(f"{view}/sub/c")
            subprocess.run(["umount", view], check=True)
            assert done.wait(60) == 0
        with start_contained(bench, places[2]):
            subprocess.run(["umount", places[2]], check=True)
    for view, name in zip(places, names):
        with open(f"{bench.job}/logs/{name}-output.log", encoding="utf-8") as f:
            text = f.read()
            assert f"names of its files begin with: {name}-\n" in text and f"view: {view}\n" in text, text
    found = os.listdir(f"{bench.job}/profiling/final")
    assert len(found) == 6 and {re.match(r"(.*-1)-", one)[1] for one in found} == set(names), found
    cluster = json.loads(auger("cache", "aggregate", "-f", "json", bench.job).stdout)
    assert cluster["ranks"] == 3, cluster


def order(path, number):
    fd = os.open(path, os.O_RDONLY)
    try:
        return fcntl.ioctl(fd, number, 0)
    finally:
        os.close(fd)


def test_orders(bench):
    """Copper's ioctls: files in the job's tables, as the ioctl's file is outside of the job, and resets of single counters."""
    bench.mount(*FULL)
    seen = f"{bench.view}/sub/c"
    with open(seen, "rb") as f:
        f.read()
    os.listdir(f"{bench.view}/sub")
    for number, (name, first) in DUMPS.items():
        assert order(seen, number) == 0, number
        with open(glob.glob(f"{bench.job}/tables/final/*-{name}.output")[0], encoding="utf-8") as f:
            text = f.read()
        assert text.endswith("\n") and (not first or text.startswith(first + "\n")), (number, text)
        if first is None:
            assert re.search(r"={45}\nTotal bytes: [1-9]\d*\ntotal number of (files|entries): [1-9]\d*\n={45}\n$", text)
    assert f"{bench.target}/sub/c: 5000\n" in open(glob.glob(f"{bench.job}/tables/final/*-data_cache_size.output")[0],
                                                   encoding="utf-8").read()
    assert code_of(order, seen, 12345) == errno.ENOTTY
    for number in (700, 800, 900, 1000, 1400, 1500, 1600, 1800, 2100, 100):
        assert order(seen, number) == 0, number
    for number, name in ((500, "operation_cache_hit"), (1100, "data_table_cache_event")):
        assert order(seen, number) == 0
        with open(glob.glob(f"{bench.job}/tables/final/*-{name}.output")[0], encoding="utf-8") as f:
            assert not re.search(r"^(read: [1-9]|/)", f.read(), re.M), name
    assert os.listdir(f"{bench.target}/sub") == ["c"]


def stats_of(place):
    return json.loads(auger("cache", "stats", "-f", "json", place).stdout)


def test_stats(bench):
    """The counts are those of the files; a reset sets them to 0."""
    bench.mount("--profile-top", "5", "--copper-files", "--exact")
    for _ in range(3):
        with open(f"{bench.view}/b", "rb") as f:
            assert len(f.read()) == 300000
        assert code_of(os.stat, f"{bench.view}/none") == errno.ENOENT
    got = stats_of(bench.view)
    auger("cache", "snapshot", bench.view)
    want = bench.metrics("profiling/ioctl-snapshot")
    for key, metric in (("hits", "total_cache_hits"), ("misses", "total_cache_misses"), ("failed", "total_negative_results"),
                        ("read_bytes", "total_bytes_read"), ("storage_requests", "storage_requests")):
        assert got[key] == want[metric] > 0, (key, got, want)
    assert abs(got["storage_wait_ns"] / 1e9 - want["total_storage_wait_seconds"]) < 1e-5, (got, want)
    assert got["storage_hanging"] == 0 and got["slowest_paths"][0].startswith(bench.target), got
    text = auger("cache", "stats", bench.view).stdout
    keys = [line[2:].split(":")[0] for line in text.splitlines() if line.startswith("# ")]
    assert keys == ["view", "requests", "hits", "misses", "failed", "read", "storage requests", "storage wait", "storage hanging"], text
    assert "# rank: " in auger("cache", "stats", "-v", bench.view).stdout
    auger("cache", "reset", bench.view)
    after = stats_of(bench.view)
    assert after["failed"] == after["read_bytes"] == 0 and after["hits"] < got["hits"], after


def test_fast_storage(bench):
    """A local disk whose page cache is warm is not worth a cache; one that takes its time is."""
    for i in range(300):
        with open(f"{bench.target}/sub/{i}", "wb") as f:
            f.write(b"x" * 100)
    bench.mount()
    for i in range(300):
        with open(f"{bench.view}/sub/{i}", "rb") as f:
            f.read()
    text = auger("cache", "stats", bench.view).stdout
    assert "does not pay" in text or stats_of(bench.view)["storage_wait_ns"] > 300 * 100000, text


def test_commands(bench):
    bench.mount(*FULL)
    with open(f"{bench.view}/b", "rb") as f:
        f.read()
    table = auger("cache", "stats", bench.view, "--csv", f"{bench.dir}/stats.csv").stdout
    assert [line.split()[0] for line in table.splitlines()[-4:]] == ["data", "tree", "metadata", "combined"], table
    assert table.count("\n") <= 25 and max(map(len, table.splitlines())) <= 80, table
    data, _, _, combined = stats_of(bench.view)["rows"]
    assert data["used_bytes"] >= 300000 and combined["budget_bytes"] == combined["used_bytes"] + combined["remaining_bytes"], combined
    with open(f"{bench.dir}/stats.csv", encoding="utf-8") as f:
        assert f.readline().startswith("table,files_found,used_bytes,used_human,entries,")
    assert auger("cache", "snapshot", bench.view).stdout == bench.job + "\n"
    assert "ioctl-snapshot-profiling_summary.md" in bench.files("profiling/ioctl-snapshot")
    assert len(bench.files("tables/final")) == 15, bench.files("tables/final")
    table = stats_of(bench.job)
    assert table["rows"][0] == {"table": "data", "files_found": 1, "entries": 1, "used_bytes": 300000, "budget_bytes": None,
                                "remaining_bytes": None}, table
    auger("cache", "reset", bench.view)
    before = bench.operations("profiling/pre-reset")
    assert before["read"]["total_calls"] >= 1, before
    auger("cache", "snapshot", bench.view)
    assert "read" not in bench.operations("profiling/ioctl-snapshot"), "counters were reset"
    first, then = (bench.metrics(f"profiling/{tag}")["storage_requests"] for tag in ("pre-reset", "ioctl-snapshot"))
    assert then < first, (first, then)
    with open(f"{bench.view}/b", "rb") as f:
        assert len(f.read()) == 300000
    bench.umount()
    assert bench.operations()["read"]["cache_misses"] >= 1, "the data was dropped"
    for verb, place, words in (("snapshot", bench.dir, "no cache is mounted"), ("stats", bench.target, "_cache_size"),
                               ("reset", f"{bench.dir}/nowhere", "No such file")):
        done = auger("cache", verb, place, check=False)
        assert done.returncode == 1 and words in done.stderr, done


def test_reset(bench):
    """After a reset, missing and replaced files are looked up again, also those the kernel cached."""
    bench.mount("--profile")
    folders = ("", "sub/", "sub/deep/")
    os.makedirs(f"{bench.target}/sub/deep")
    for is_listed in (False, True):
        for folder in folders:
            names = [f"{folder}{name}{is_listed}" for name in ("new", "other")]
            if is_listed:
                os.listdir(f"{bench.view}/{folder}")
            here = os.getcwd()
            os.chdir(f"{bench.view}/{folder}")
            for name in names:
                assert code_of(os.stat, f"{bench.view}/{name}") == errno.ENOENT, name
                with open(f"{bench.target}/{name}", "w", encoding="ascii") as f:
                    f.write(name)
            assert not is_listed or code_of(os.stat, f"{bench.view}/{names[0]}") == errno.ENOENT
            auger("cache", "reset", bench.view)
            for name in names:
                with open(f"{bench.view}/{name}", encoding="ascii") as f:
                    assert f.read() == name
                os.unlink(f"{bench.target}/{name}")
            auger("cache", "reset", bench.view)
            for name in names:
                assert code_of(os.stat, f"{bench.view}/{name}") == errno.ENOENT, name
                assert os.path.basename(name) not in os.listdir(f"{bench.view}/{folder}")
            os.chdir(here)


def anonymous_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"RssAnon:\s+(\d+) kB", f.read())[1])


def test_memory(bench):
    """A reset gives memory back; used and remaining bytes add up to the budget."""
    with open(views.AUGER, "rb") as f:
        if re.search(rb"__[at]san_init", f.read()):
            return  # sanitizers keep what was freed
    for i in range(1500):
        with open(f"{bench.target}/sub/{i}", "wb") as f:
            f.write(b"x" * 20000)
    bench.mount("--budget", "256M")
    for i in range(1500):
        with open(f"{bench.view}/sub/{i}", "rb") as f:
            f.read()
    row = stats_of(bench.view)["rows"][-1]
    assert 1500 * 20000 <= row["used_bytes"] == (256 << 20) - row["remaining_bytes"], row
    assert anonymous_kib(bench.pid()) > 29000
    auger("cache", "reset", bench.view)
    assert anonymous_kib(bench.pid()) < 10000, anonymous_kib(bench.pid())


def test_owner(bench):
    """Other users cannot send commands."""
    if os.geteuid() != 0:
        return
    os.chmod(bench.dir, 0o755)
    bench.mount("--profile", "--allow-other")
    script = "import fcntl, sys\ntry: fcntl.ioctl(open(sys.argv[1]), int(sys.argv[2]), 0)\nexcept OSError as e: print(e.errno)"
    for number in (300, 1900, 2000):
        said = subprocess.run(["/usr/bin/python3", "-c", script, f"{bench.view}/a", str(number)], user=65534, group=65534,
                              extra_groups=[], capture_output=True, text=True, check=True, timeout=60).stdout
        assert said == f"{errno.EPERM}\n", said


def test_intervals(bench):
    """Files are replaced while the view is in use; a reader sees complete ones."""
    bench.mount(*FULL, "-profile_snapshot_interval_s", "1")
    seen, begin = set(), time.monotonic()
    while len(seen) < 2:
        assert time.monotonic() - begin < 60
        os.stat(f"{bench.view}/a")
        with contextlib.suppress(IndexError, FileNotFoundError):
            text = bench.read("profiling/runtime-snapshot", "profiling_summary.md")
            assert text.startswith(HEADINGS[0]) and text.endswith("|\n"), text
            seen.add(os.stat(bench.path("profiling/runtime-snapshot", "profiling_summary.md")).st_ino)
    head = ["start_s", "duration_s", "calls", "cache_hits", "cache_misses", "negative_results", "latency_s",
            "storage_wait_s", "bytes"]
    bench.umount()
    steps = bench.rows("profiling/final", "profiling_timeline.csv", head)
    assert sum(int(row["calls"]) for row in steps) == bench.metrics()["total_counted_fuse_operations"], steps
    assert len(steps) >= 4, steps


def test_terminated(bench):
    """SIGTERM during requests: all files are written."""
    bench.mount(*FULL)
    os.stat(f"{bench.view}/a")
    pid = bench.pid()
    fd = os.pidfd_open(pid)
    used = os.open(f"{bench.view}/b", os.O_RDONLY)
    signal.pidfd_send_signal(fd, signal.SIGTERM)
    assert select.select([fd], [], [], 60)[0], "the daemon did not end"
    bench.is_mounted = False
    code_of(os.close, used)
    os.close(fd)
    assert bench.operations()["getattr"]["total_calls"] >= 1


def value_of(bench, kind):
    """The sum over all stacks of the profile."""
    text = auger("convert", "--to", "folded", "--value", kind, bench.path("profiling/final", "profile.pb.gz")).stdout
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()), text


def test_profile(bench):
    """The profile has every call of a path, and auger flame draws it."""
    bench.mount(*FULL)
    for _ in range(3):
        with open(f"{bench.view}/b", "rb") as f:
            f.read()
        code_of(os.stat, f"{bench.view}/sub/none")
    bench.umount()
    ops = bench.operations()
    calls, text = value_of(bench, "calls")
    assert calls == sum(ops[op]["total_calls"] for op in ("getattr", "read", "readdir") if op in ops), (calls, ops)
    stack = bench.target.replace("/", ";")[1:]
    assert f"/;{stack};sub;none 3\n" in text, text
    assert value_of(bench, "bytes")[0] == 900000
    auger("flame", "--value", "calls", bench.path("profiling/final", "profile.pb.gz"), "-o", f"{bench.dir}/flame.svg")
    with open(f"{bench.dir}/flame.svg", encoding="utf-8") as f:
        assert f"<title>none\n{bench.target}/sub/\n" in f.read()


def rows_of(command, *words):
    """The rows of a table of calls, by function and module."""
    rows = json.loads(auger(command, "--value", "calls", "-f", "json", *words).stdout)["rows"]
    by_name = {(row.get("function"), row["module"]): row for row in rows}
    assert len(by_name) == len(rows), rows
    return by_name


def test_same_names(bench):
    """Equal names in two folders are separate rows, and a folder's total includes what is below it."""
    odd = b"odd\xff\n_[k]"
    for i, folder in enumerate(("one/lib", "two/lib")):
        os.makedirs(f"{bench.target}/{folder}")
        for name in (b"__init__.py", odd):
            with open(f"{bench.target}/{folder}/".encode() + name, "wb") as f:
                f.write(b"x" * (i + 1))
    runs = []
    for reads in (1, 5):
        bench.mount(*FULL)
        for folder, count in (("one/lib", 1), ("two/lib", reads)):
            for _ in range(count):
                for name in (b"__init__.py", odd):
                    with open(f"{bench.view}/{folder}/".encode() + name, "rb") as f:
                        f.read()
        bench.umount()
        runs.append(f"{bench.dir}/{reads}.pb.gz")
        shutil.copy(bench.path("profiling/final", "profile.pb.gz"), runs[-1])
        shutil.rmtree(bench.job)
    one, two, odd = f"{bench.target}/one/", f"{bench.target}/two/", r"odd\xff" + "\n_[k]"
    rows = rows_of("report", runs[1])
    assert rows["__init__.py", f"{two}lib/"]["self"] > rows["__init__.py", f"{one}lib/"]["self"] > 0, rows
    assert rows[odd, f"{two}lib/"]["self"] > rows[odd, f"{one}lib/"]["self"] > 0, rows
    modules = {module: row for (_, module), row in rows_of("report", "--by", "module", runs[1]).items()}
    for folder in (one, two):
        below = [row["self"] for (_, module), row in rows.items() if module == f"{folder}lib/"]
        assert len(below) == 2 and modules[f"{folder}lib/"]["total"] == sum(below), (below, modules)
        lib = rows["lib", folder]
        assert lib["total"] == lib["self"] + sum(below) == modules[folder]["total"], (lib, below, modules)
    total = sum(row["self"] for row in rows.values())
    assert rows["/", "/"]["total"] == modules["/"]["total"] == total, (total, rows, modules)
    focused = rows_of("report", "--focus", f"^{two}lib/", runs[1])
    assert sum(row["self"] for row in focused.values()) == modules[f"{two}lib/"]["total"], focused
    changes = rows_of("diff", *runs)
    for name in ("__init__.py", odd):
        same, more = changes[name, f"{one}lib/"], changes[name, f"{two}lib/"]
        assert same["before"] == same["after"] and more["before"] < more["after"] == rows[name, f"{two}lib/"]["self"], changes


def ask(bench):
    """The requests of a program that starts."""
    for name in ("a", "b", "sub/c", "sub/[", "big"):
        with open(f"{bench.view}/{name}", "rb") as f:
            f.read()
    os.listdir(f"{bench.view}/sub")
    for name in ("none", "sub/none", "nowhere/none"):
        assert code_of(os.stat, f"{bench.view}/{name}") == errno.ENOENT
    assert os.readlink(f"{bench.view}/link") == "a"


def prefetched(bench, *options):
    """Mounts with a prefetch, and returns its message."""
    bench.mount(*options, "--log-level", "4", "--log-to", "file")
    end = time.monotonic() + 100
    while time.monotonic() < end:
        with open(glob.glob(f"{bench.job}/logs/*-{bench.pid()}-output.log")[0], encoding="utf-8") as f:
            words = re.search(r"prefetched .*", f.read())
        if words:
            return words[0]
        time.sleep(0.02)
    raise AssertionError("the prefetch does not end")


def test_prefetch(bench):
    """After a prefetch by profile or list, no request of the same run waits for storage."""
    os.symlink("a", f"{bench.target}/link")
    for name, size in (("sub/[", 7), ("big", 6 << 20)):
        with open(f"{bench.target}/{name}", "wb") as f:
            f.write(b"x" * size)
    bench.mount("--profile-paths", "--kernel-cache")
    ask(bench)
    bench.umount()
    shutil.copy(bench.path("profiling/final", "profile.pb.gz"), f"{bench.dir}/asked.pb.gz")
    auger("cache", "paths", bench.job, "--usage-root", bench.target, "--output-dir", f"{bench.dir}/lists")
    with open(f"{bench.dir}/list", "w", encoding="utf-8") as out:
        for name in ("used_paths_existing.txt", "missing_probe_paths.txt"):
            with open(f"{bench.dir}/lists/{name}", encoding="utf-8") as f:
                out.write(f.read())
    for source in ("asked.pb.gz", "list"):
        shutil.rmtree(bench.job)
        words = prefetched(bench, "--prefetch", f"{bench.dir}/{source}", "--profile-paths", "--copper-files")
        assert re.search(r" (\d+) of \1 paths in .*; 3 do not exist, 0 could not be read", words), (source, words)
        ask(bench)
        bench.umount()
        ops = bench.operations()
        assert ops["read"]["cache_hits"] >= 5 and not any(row["cache_misses"] for row in ops.values()), (source, ops)
    words = prefetched(bench, "--prefetch", f"{bench.dir}/list", "--prefetch-rate", "4M")
    assert float(re.search(r" in ([\d.]+) s: 6\.", words)[1]) >= 1.2, words
    bench.umount()
    names = [f"{bench.target}/small{i}" for i in range(500)]
    for name in names + [f"{bench.dir}/list"]:
        with open(name, "w", encoding="utf-8") as f:
            f.write("\n".join(names) if name not in names else "x" * 1000)
    words = prefetched(bench, "--prefetch", f"{bench.dir}/list", "--prefetch-rate", "1M")
    assert re.search(r" 500 of 500 paths in .*: 0\.5 MiB; 0 do", words), words  # what they have counts, not the calls
    bench.umount()


def test_budget(bench):
    """Evicted paths are counted at their folder: no call is lost."""
    for i in range(6000):
        with open(f"{bench.target}/sub/file{i}", "wb") as f:
            f.write(b"x" * 100)
    time.sleep(2.1)  # what is read within two seconds of a change is kept until it is read once more
    bench.mount(*FULL, "--budget", "1M")
    for i in range(6000):
        with open(f"{bench.view}/sub/file{i}", "rb") as f:
            f.read()
    bench.umount()
    ops, metrics = bench.operations(), bench.metrics()
    assert metrics["paths_no_more_known"] > 0, metrics
    calls, text = value_of(bench, "calls")
    assert calls == sum(ops[op]["total_calls"] for op in ("getattr", "read", "readdir") if op in ops), (calls, ops)
    assert "[others]" in text
    others = rows_of("report", bench.path("profiling/final", "profile.pb.gz"))["[others]", f"{bench.target}/sub/"]
    assert others["self"] > 0, others
    assert "paths were evicted" in bench.read("profiling/final", "profiling_summary.md")


def test_full_disk(bench):
    """Files that fit are written, and the summary names the missing ones."""
    os.mkdir(bench.job)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", bench.job], check=False).returncode:
        return  # only root may
    try:
        bench.mount(*FULL)
        for i in range(3000):  # their table is larger than the disk
            assert not os.path.exists(f"{bench.view}/sub/{i:0200}")
        done = auger("cache", "snapshot", bench.view, check=False)
        assert done.returncode == 1 and "No space left on device" in done.stderr, done
        bench.umount()
        said = bench.read("profiling/final", "profiling_summary.md").split("## Not Written\n")[1]
        lost = re.findall(r"^- `.*/[^/]+-\d+-(\S+): No space left on device`$", said, re.M)
        there = bench.files("profiling/final")
        assert "profiling_paths.csv" in lost and not set(lost) & set(there), (said, there)
        assert {"profiling_aggregate.csv", "profiling_top_paths.csv", "profile.pb.gz"} <= set(there), (said, there)
    finally:
        subprocess.run(["umount", "-l", bench.job], check=False)


def test_wrong(bench):
    for words, said in ((["--profile"], "--job-dir"), (["-log_level", "3", "-log_type", "file"], "--job-dir"),
                        (["-log_level", "9"], "log-level"), (["--exact", "--kernel-cache"], "exclude")):
        done = auger("cache", "mount", "-tpath", bench.target, *words, bench.view, check=False)
        assert done.returncode == 2 and said in done.stderr, done
    done = auger("cache", "mount", "-tpath", bench.target, "-log_output_dir", "/dev/null/job", "--profile", bench.view,
                 check=False)
    assert done.returncode == 1 and "/dev/null/job" in done.stderr, done


def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def deep_profile(depth):
    """One stack of one function called "a", over and over."""
    def part(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content
    return gzip.compress(part(1, b"\x08\1\x10\2") + part(2, part(1, b"\1" * depth) + part(2, b"\1")) +
                         part(4, b"\x08\1" + part(4, b"\x08\1")) + part(5, b"\x08\1\x10\3") +
                         b"".join(part(6, word) for word in (b"", b"calls", b"count", b"a")))


def test_wrong_lists(bench):
    for content, said in ((b"", "names no path"), (b"/a\0b\n", "neither a text file"), (os.urandom(5000) + b"\0", "neither a text file"),
                          (deep_profile(1000000), "names no path"), (deep_profile(10)[:-9], "ends early")):
        with open(f"{bench.dir}/list", "wb") as f:
            f.write(content)
        done = auger("cache", "mount", "-t", bench.target, "--prefetch", f"{bench.dir}/list", bench.view, check=False)
        assert done.returncode == 1 and said in done.stderr, (content[:9], done)


WANTED = sys.argv[2:]
sys.exit(views.run_tests([(n, t) for n, t in list(globals().items())
                          if n.startswith("test_") and (not WANTED or n in WANTED)], Bench))
