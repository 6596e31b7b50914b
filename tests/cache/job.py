#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""job.py AUGER: two mounted caches write into one job's folder; `auger cache aggregate` and `paths`
report what the ranks wrote and did. The test removes its mounts and folders."""
import csv
import glob
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

AUGER = sys.argv[1]
FILES = ["env/pyvenv.cfg", "env/bin/tool", "env/lib/python3.12/os.py", "env/lib/python3.12/unused.py",
         "env/lib/python3.12/site-packages/numpy/__init__.py", "env/lib/python3.12/site-packages/numpy/new\nline",
         "env/lib/python3.12/site-packages/torch/__init__.py", "env/lib/python3.12/site-packages/torch/x y.so",
         "other/data", os.fsdecode(b"env/lib/no\xffutf-8")]
USED = [FILES[0], FILES[2], FILES[4], FILES[5], FILES[-1]]
MISSING = ["env/lib/python312.zip", "env/lib/libno.so", "env/lib/python3.12/site-packages/numpy/no.py"]
BLOCK = "other/x {\ncache hits: 5,\ncache misses: 1,\nneg: 0\n}\n/y" # looks like a row of a table
count = 0
failed = False


def check(ok, name):
    global count, failed
    count += 1
    failed |= not ok
    print("%sok %d - %s" % ("" if ok else "not ", count, name))


def auger(*words):
    done = subprocess.run([AUGER, "cache", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done
    return done


def read_csv(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as text:
        return list(csv.DictReader(text))


def use(view, times):
    for _ in range(times):
        for name in USED + [BLOCK]:
            with open(f"{view}/{name}", "rb") as f:
                f.read()
        for name in MISSING:
            assert not os.path.exists(f"{view}/{name}")
    os.listdir(f"{view}/env/lib")


def run_job(base):
    """The second rank makes more requests."""
    for i in range(2):
        view = f"{base}/view{i}"
        os.mkdir(view)
        auger("mount", "-t", f"{base}/target", "--job-dir", f"{base}/job", "--profile-paths", "--profile-top", "5", "--copper-files", view)
        try:
            use(view, 1 + 3 * i)
        finally:
            auger("umount", view)


def sums(job, base, key, columns):
    """{key: [sum of each column]} of all ranks' files."""
    all_sums = {}
    for path in glob.glob(f"{job}/profiling/final/*-profiling_{base}.csv"):
        for row in read_csv(path):
            its = all_sums.setdefault(row[key], [0] * len(columns))
            for i, column in enumerate(columns):
                its[i] += round(float(row[column]) * 1000000)
    return all_sums


def check_sums(job):
    columns = ["total_calls", "cache_hits", "cache_misses", "negative_results", "total_latency_s"]
    for base, key, its_columns in (("aggregate", "metric", ["value"]), ("operations", "operation", columns)):
        got = {row[key]: [round(float(row[c]) * 1000000) for c in its_columns]
               for row in read_csv(f"{job}/profiling/cluster/cluster-profiling_{base}.csv")}
        ranks = got.pop("ranks_with_aggregate_files", None)
        check(got == sums(job, base, key, its_columns) and (base != "aggregate" or ranks == [2000000]),
              f"{base} is what the ranks wrote")


def check_paths(base):
    rows = {(row["category"], row["path"]): row
            for row in read_csv(f"{base}/job/profiling/cluster/cluster-profiling_top_paths.csv")}
    shown = [name.replace("\udcff", "\\xff") for name in USED]
    check(all(int(rows["data", f"{base}/target/{name}"]["ranks"]) == 2 for name in shown), "both ranks read the files")
    block = rows.get(("data", f"{base}/target/{BLOCK}".replace(" {\n", " {\\n")), {"ranks": "none"})
    check(block["ranks"] == "2", "also a file with a name like a row")
    check(all(row["events_not_listed"] == "0" for row in rows.values()), "tables of events are complete")
    probes = [rows["metadata", f"{base}/target/{name}"] for name in MISSING]
    check(all(row["negative_results"] == "5" for row in probes), "each probe is counted")
    check([row["class"] for row in probes] == ["python_zip_probe", "missing_shared_library_probe", "python_module_probe"],
          "and has its class")


def check_summary(job):
    with open(f"{job}/profiling/cluster/cluster-profiling_summary.md", encoding="utf-8", errors="surrogateescape") as text:
        summary = text.read()
    check("- Profiling mode: `full-path`\n- Kernel caching: `off" in summary, "it tells how it was counted")
    headings = [line[3:] for line in summary.split("\n") if line.startswith("## ")]
    check(headings == ["Aggregate Metrics", "Operation Totals", "Latency Percentiles", "Ranges Across Ranks", "Top Paths", "Paths With Most Time",
                       "Files With Most Bytes on All Nodes",
                       "Path Class Heuristics", "Python Packages", "Pruning Guidance", "Path Coverage Analysis"],
          "and all there is")


def check_lists(base):
    auger("paths", f"{base}/job", "--prune-script", f"{base}/prune.sh")

    def names(file):
        with open(f"{base}/job/paths_dir/{file}", encoding="utf-8", errors="surrogateescape") as lines:
            return {os.path.relpath(line, f"{base}/target") for line in lines.read().split("\n")[:-1]}

    env = [name for name in FILES if name.startswith("env/")]
    used = names("used_paths_existing.txt")
    check(used & set(FILES) == set(USED) - {FILES[5]}, "used files")
    check(names("same_run_candidate_not_observed_existing_paths.txt") & set(FILES) == set(env) - set(USED), "unused files")
    check(names("missing_probe_paths.txt") == set(MISSING), "missing probes")
    subprocess.run(["sh", f"{base}/prune.sh", f"{base}/copy"], check=True)
    copy = f"{base}/copy{base}/target"
    made = {os.path.relpath(f"{folder}/{name}", copy) for folder, _, files in os.walk(copy) for name in files}
    check(made == set(USED), "the reduced copy has what was used")


def check_incomplete(base):
    """paths warns of a list without the calls that the kernel answered, and makes no script from it."""
    view = f"{base}/view0"
    auger("mount", "-t", f"{base}/target", "--job-dir", f"{base}/kept", "--profile-paths", "--kernel-cache", view)
    try:
        use(view, 1)
    finally:
        auger("umount", view)
    words = [AUGER, "cache", "paths", f"{base}/kept", "--usage-root", f"{base}/target"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    check(done.returncode == 0 and "--kernel-cache" in done.stderr, "lists of what the kernel kept are told to lack some")
    done = subprocess.run(words + ["--prune-script", f"{base}/no.sh"], capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "no script: " in done.stderr and not os.path.exists(f"{base}/no.sh"), "and make no script")


def read_all(folder):
    """The rows of the files in a folder. The file with a name like a row is left out: Copper's tables cannot have its name."""
    texts = {}
    for name in os.listdir(folder):
        with open(f"{folder}/{name}", encoding="utf-8", errors="surrogateescape", newline="") as f:
            texts[name] = [row for row in (csv.reader(f) if name.endswith(".csv") else f) if "/other/x" not in str(row)]
    return texts


def check_two_files(base):
    """What is made of all of Copper's files is made of two files a rank as well, to the last digit."""
    job = f"{base}/job"
    folders = [f"{job}/profiling/cluster", f"{job}/paths_dir"]
    before = [read_all(folder) for folder in folders]
    shutil.rmtree(f"{job}/tables")
    shutil.rmtree(f"{job}/profiling/pre-destroy")
    for name in os.listdir(f"{job}/profiling/final"):
        if not name.endswith(("-profile.pb.gz", "-profiling_summary.md")):
            os.unlink(f"{job}/profiling/final/{name}")
    check(len(os.listdir(f"{job}/profiling/final")) == 4, "two files of each of two ranks")
    auger("aggregate", "-n", "0", job)
    auger("paths", job)
    after = [read_all(folder) for folder in folders]
    for was, now in zip(before, after):
        for name in sorted(was):
            if name == "paths_summary.md":  # names the folder that was read
                continue
            if was[name] != now[name]:
                print([pair for pair in zip(was[name], now[name]) if pair[0] != pair[1]][:5], file=sys.stderr)
            check(was[name] == now[name], f"two files: {name}")


def check_full(words, folder):
    """When one file cannot be written, none is: the old files stay, and no temporary file is left."""
    def there():
        return sorted((entry.name, entry.inode()) for entry in os.scandir(folder))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest - 1, largest - 1))

    largest = max(entry.stat().st_size for entry in os.scandir(folder))
    before = there()
    done = subprocess.run([AUGER, "cache", *words], preexec_fn=limit, capture_output=True, text=True, check=False)
    check(done.returncode == 1 and done.stderr.endswith(": File too large\n") and done.stderr.count("\n") == 1 and
          not done.stdout and there() == before, f"{words[0]}: all files are replaced or none")
    auger(*words)
    check(len(there()) == len(before) and not set(there()) & set(before), f"{words[0]}: then all are")


def main():
    base = os.path.realpath(tempfile.mkdtemp(prefix="auger-job-"))
    try:
        for name in FILES + [BLOCK]:
            os.makedirs(os.path.dirname(f"{base}/target/{name}"), exist_ok=True)
            with open(f"{base}/target/{name}", "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(name * 100)
        run_job(base)
        auger("aggregate", "-n", "0", f"{base}/job")
        check_sums(f"{base}/job")
        check_paths(base)
        check_summary(f"{base}/job")
        check_lists(base)
        check_full(["aggregate", "-n", "0", f"{base}/job"], f"{base}/job/profiling/cluster")
        check_full(["paths", f"{base}/job"], f"{base}/job/paths_dir")
        check_two_files(base)
        check_incomplete(base)
    finally:
        shutil.rmtree(base)
    print("1..%d" % count)
    sys.exit(failed)


main()
