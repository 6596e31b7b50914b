#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""paths.py AUGER: `auger cache paths` of generated tables and a real tree: the lists, the counts, and the
script, which is run."""
import filecmp
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import ranks

AUGER = sys.argv[1]
NAMES = ["a", "b b", "new\nline", "it's", "\"q\"", "$(touch bad)", "`id`", "-rf", "*", "\\", "é", "a;b", "~", "#c", "end\n"]
count = 0
failed = False


def check(ok, name):
    global count, failed
    count += 1
    failed |= not ok
    print("%sok %d - %s" % ("" if ok else "not ", count, name))


def auger(*words):
    return subprocess.run([AUGER, "cache", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)


def make_tree(root):
    """Returns all paths below root: True for folders."""
    tree = {}
    rng = random.Random(3)
    for folder in ["lib", "lib/python3.12", "lib/python3.12/site-packages", "bin", "odd"] + \
            ["odd/" + name for name in NAMES]:
        os.mkdir(f"{root}/{folder}")
        tree[f"{root}/{folder}"] = True
        for name in rng.sample(NAMES, 8):
            path = f"{root}/{folder}/f{name}"
            if rng.random() < 0.2:
                os.symlink("../nowhere", path)
            else:
                with open(path, "w", encoding="utf-8") as out:
                    out.write(path)
            tree[path] = False
    os.chmod(f"{root}/lib", 0o555)
    os.chmod(f"{root}/bin", 0o750)
    return tree


def write_tables(job, root, tree):
    """Two ranks use a part of the tree. Returns the used, missing and gone paths."""
    rng = random.Random(4)
    files = [path for path, is_folder in tree.items() if not is_folder]
    used = set(rng.sample(files, len(files) // 2))
    missing = {f"{root}/lib/no{i}.so" for i in range(5)} | {f"{root}/no\nsuch"}
    gone = {f"{root}/bin/gone", f"{root}/bin/went"}
    rank = ranks.make_ranks(1, 2, 1)
    for i, r in enumerate(rank):
        r.paths = {("metadata", path): [3, 1, 0] for path in sorted(used)[i::2]}
        r.paths.update({("metadata", path): [0, 0, 2] for path in missing})
        r.paths.update({("metadata_ttl", path): [1, 1, 0, 0] for path in missing})
        r.paths["metadata", "/"] = [1, 0, 0]
        r.paths["metadata", root] = [1, 0, 0]
        r.paths["data", f"{root}/bin/gone"] = [0, 1, 5]
        r.paths["metadata", f"{root}/bin/went"] = [i, 0, 1]
        r.paths["tree", f"{root}/odd"] = [1, 0, 0]
        for path in used | {f"{root}/bin/gone"}:
            folder = os.path.dirname(path)
            if folder != root:
                r.paths["metadata", folder] = [0, 1, 0]
        ranks.write_rank(job, r, 0, True)
    folders = {os.path.dirname(path) for path in used} | {f"{root}/odd", f"{root}/bin"}
    folders |= {os.path.dirname(path) for path in folders}
    return used | {path for path in folders if path.startswith(root + "/")}, missing, gone


def read_list(job, name):
    with open(f"{job}/paths_dir/{name}", encoding="utf-8") as lines:
        return lines.read().split("\n")[:-1]


def listed(paths):
    return sorted((path for path in paths if "\n" not in path), key=os.fsencode)


def check_lists(job, root, tree, used, missing, gone):
    result = auger("paths", job, "--usage-root", root, "-f", "json", "--prune-script", f"{job}/prune.sh")
    check(result.returncode == 0, "it ends well" + result.stderr.decode())
    check(read_list(job, "all_possible_existing_paths.txt") == listed(tree), "all paths")
    check(read_list(job, "used_paths_existing.txt") == listed(used), "used paths")
    check(read_list(job, "same_run_candidate_not_observed_existing_paths.txt") == listed(set(tree) - used),
          "unused paths")
    check(read_list(job, "missing_probe_paths.txt") == listed(missing), "missing probes")
    check(read_list(job, "gone_since_paths.txt") == listed(gone), "what is gone")
    rows = json.loads(result.stdout)["rows"]
    check([row["total_paths"] for row in rows] == [len(tree), len(used), len(tree) - len(used), len(missing), len(gone)],
          "counts, with paths that cannot be listed")
    check(rows[1]["files"] == sum(not tree[path] for path in used), "files of them")
    again = auger("paths", job, "--usage-root", root, "--prune-script", f"{job}/prune.sh")
    check(again.returncode == 1 and b"exists already" in again.stderr, "a script that is there stays")


def check_apart(job, root):
    """A path that the walk does not reach is not gone."""
    os.symlink("odd", f"{root}/linked")
    rank = ranks.make_ranks(1, 1, 1)[0]
    rank.paths = {("metadata", f"{root}/linked/{os.listdir(root + '/odd')[0]}"): [1, 0, 0]}
    ranks.write_rank(f"{job} apart", rank, 0, True)
    result = auger("paths", f"{job} apart", "--usage-root", root)
    check(b"1 used paths are where the walk does not go" in result.stderr and not read_list(f"{job} apart", "gone_since_paths.txt"),
          "what the walk does not get to is told, and not gone")
    os.unlink(f"{root}/linked")


def check_linked_root(job, root, used):
    """Links in a root's path are resolved, also in its last component."""
    for link, to, name in (("way", os.path.dirname(root), f"way/{os.path.basename(root)}"), ("end", root, "end/")):
        os.symlink(to, f"{job}/{link}")
        result = auger("paths", job, "--usage-root", f"{job}/{name}", "--output-dir", f"{job}/by a link")
        with open(f"{job}/by a link/used_paths_existing.txt", encoding="utf-8") as lines:
            check(lines.read().split("\n")[:-1] == listed(used) and b"leads to " in result.stderr, f"a root by a link: {name}")
        os.unlink(f"{job}/{link}")
    result = auger("paths", job, "--usage-root", "")
    check(result.returncode == 1 and b"'': not a directory" in result.stderr, "a root without a name is none")


def same_entry(path, copy):
    a, b = os.lstat(path), os.lstat(copy)
    return a.st_mode == b.st_mode if os.path.isdir(path) and not os.path.islink(path) else a.st_ino == b.st_ino


def check_other_device(job, work):
    if os.stat("/dev/shm").st_dev == os.stat(work).st_dev:
        return
    other = tempfile.mkdtemp(dir="/dev/shm")
    result = subprocess.run(["sh", f"{job}/prune.sh", f"{other}/copy"], cwd=work, capture_output=True, check=False)
    check(result.returncode == 1 and b"is not on the file system of" in result.stderr and not os.listdir(other),
          "nothing is made on another file system")
    os.rmdir(other)


def check_script(job, root, used, work):
    copy = f"{work}/a copy"
    result = subprocess.run(["sh", f"{job}/prune.sh", copy], cwd=work, capture_output=True, check=False)
    check(result.returncode == 0 and not result.stderr, "the script runs" + result.stderr.decode())
    found = {os.path.join(folder, name)[len(copy):] for folder, folders, files in os.walk(copy)
             for name in folders + files}
    check({path for path in found if path.startswith(root + "/")} == used, "it makes what was used, and no more")
    check(all(same_entry(path, copy + path) for path in used), "by links, with the folders' modes")
    check(os.listdir(work) == [os.path.basename(copy)], "no path is a command")
    again = subprocess.run(["sh", f"{job}/prune.sh", copy], cwd=work, capture_output=True, check=False)
    check(again.returncode != 0, "a folder that is there stays as it is")
    check_other_device(job, work)
    for dest in ("-", "-x"):
        result = subprocess.run(["sh", f"{job}/prune.sh", dest], cwd=work, capture_output=True, check=False)
        check(result.returncode == 0 and not filecmp.dircmp(copy, f"{work}/{dest}").left_only, f"into '{dest}'")


def cut_table(job, table):
    with open(table, "r+", encoding="utf-8") as text:
        text.truncate(os.path.getsize(table) - 1)


def lose_table(job, table):
    os.unlink(table)


def lose_end(job, table):
    name = os.path.basename(table).replace("-md_", "-runtime-snapshot-md_")
    os.makedirs(f"{job}/tables/runtime-snapshot")
    os.rename(table, f"{job}/tables/runtime-snapshot/{name}")


def reset(job, table):
    name = os.path.basename(table).replace("-md_", "-pre-reset-md_")
    os.makedirs(f"{job}/tables/pre-reset")
    shutil.copy(table, f"{job}/tables/pre-reset/{name}")


def check_incomplete(job, root):
    """An incomplete rank: a warning, and no script."""
    for change, words in ((cut_table, b"1 of 2 ranks"), (lose_table, b"1 of 2 ranks"),
                          (lose_end, b"1 of 2 ranks"), (reset, b"(1 ranks)")):
        copy = f"{job} incomplete"
        shutil.copytree(job, copy)
        tables = f"{copy}/tables/final"
        change(copy, f"{tables}/{min(name for name in os.listdir(tables) if '-md_table' in name)}")
        result = auger("paths", copy, "--usage-root", root)
        check(result.returncode == 0 and words in result.stderr, "what is not known is told: " + change.__name__)
        result = auger("paths", copy, "--usage-root", root, "--prune-script", f"{copy}/script")
        check(result.returncode == 1 and words in result.stderr and not os.path.exists(f"{copy}/script"), "and no script")
        shutil.rmtree(copy)


def main():
    base = os.path.realpath(tempfile.mkdtemp())
    job, root, work = (f"{base}/{name}" for name in ("job", "the env", "work"))
    try:
        for folder in (job, root, work):
            os.mkdir(folder)
        tree = make_tree(root)
        used, missing, gone = write_tables(job, root, tree)
        check_lists(job, root, tree, used, missing, gone)
        check_linked_root(job, root, used)
        check_apart(job, root)
        check_script(job, root, used, work)
        check_incomplete(job, root)
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", base], check=False)
        shutil.rmtree(base)
    print("1..%d" % count)
    sys.exit(failed)


main()
