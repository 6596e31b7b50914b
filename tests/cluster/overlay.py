#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""overlay.py AUGER FAULTY: a view that several nodes serve together, and the target itself as the oracle.

The nodes are processes with mount and host name spaces of their own, which talk over the loopback. The target is
behind a file system that writes down each call (tests/cache/faulty.c): what several nodes read leaves it once.
Everything ends with the test, also when it fails. TAP on stdout."""
import collections
import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

AUGER, FAULTY = (os.path.abspath(path) for path in sys.argv[1:3])
NODES = 4
PATIENCE = 60  # seconds, for each thing that is waited for
SOURCE = sysconfig.get_path("stdlib")  # old files: new ones are read again, to be sure of their version
PARTS = ("json", "email", "lib-dynload")


def wait_until(done, what):
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, f"{what}: not in time"
        time.sleep(0.02)


class Node:
    """A process that has name spaces of its own, and the daemon of a view in them."""

    def __init__(self, job, rank):
        self.job, self.rank, self.daemon = job, rank, None
        self.own = f"{job.dir}/node{rank}"
        os.makedirs(f"{self.own}/local")
        for name in ("hostname", "local/file"):
            with open(f"{self.own}/{name}", "w", encoding="ascii") as f:
                f.write(f"node{rank}\n")
        script = ('hostname "node$1" && mount --bind "$2/hostname" /etc/hostname && mount --bind "$2/local" /mnt && '
                  "echo ready && exec cat")
        self.holder = subprocess.Popen(["unshare", "--mount", "--uts", "--propagation", "private", "sh", "-c", script, "sh",
                                        str(rank), self.own], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n", "no name spaces"

    def path(self, path):
        """A path of the node, for this process."""
        return f"/proc/{self.holder.pid}/root{path}"

    def command(self, *args):
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", f"--uts=/proc/{self.holder.pid}/ns/uts", AUGER, "cache", *args]

    def mount(self, *args):
        self.log = open(f"{self.own}/log", "w+", encoding="utf-8")
        self.daemon = subprocess.Popen(
            self.command("mount", "--foreground", "--ranks", str(self.job.nodes), "--rank", str(self.rank), "--listen", "127.0.0.1",
                         "--job-dir", self.job.folder, *args, self.job.view), stdin=subprocess.DEVNULL, stderr=self.log)

    def words(self):
        with open(f"{self.own}/log", encoding="utf-8") as f:
            return f.read()

    def is_ready(self):
        assert self.daemon.poll() is None, self.words()
        return "ready after" in self.words()

    def has_view(self):
        """While it ends, calls in it fail."""
        try:
            return bool(os.listdir(self.path(self.job.view)))
        except OSError:
            return True

    def state(self):
        """What is left of it, for who looks why a test failed."""
        words = self.words() if self.daemon else ""
        return (f"node {self.rank}: holder {self.holder.poll()}, daemon {self.daemon and self.daemon.poll()}, "
                f"view {'mounted' if os.path.ismount(self.path(self.job.view)) else 'gone'}; {words}")

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()

    def end(self):
        if self.holder.poll() is not None:
            return
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            try:
                self.daemon.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
        if self.daemon:
            self.log.close()
        self.holder.stdin.close()
        self.holder.wait()


class Job:
    """Nodes that mount the same view, and the counted target."""

    def __init__(self, nodes=NODES, source=SOURCE, **storage):
        self.nodes, self.all, self.source, self.storage = nodes, [], source, storage
        # Mounts here must not spread to the nodes, and those of nodes not to us.
        self.dir = tempfile.mkdtemp(prefix="auger-overlay-", dir="/var/tmp")
        self.view, self.target, self.folder = (f"{self.dir}/{name}" for name in ("view", "target", "job"))
        for name in (self.view, self.target, self.folder):
            os.mkdir(name)
        self.journal = f"{self.dir}/journal"
        for name in (self.journal, f"{self.dir}/rules"):
            with open(name, "w", encoding="ascii"):
                pass
        self.faulty = None

    def __enter__(self):
        self.faulty = subprocess.Popen([FAULTY, self.source, f"{self.dir}/rules", self.target], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=dict(os.environ, FAULTY_JOURNAL=self.journal, **self.storage))
        wait_until(lambda: os.path.ismount(self.target), "the target")
        return self

    def __exit__(self, wrong, *_):
        for node in self.all:
            if wrong:
                print(node.state(), file=sys.stderr)
            node.end()
        subprocess.run(["umount", "-l", self.target], stderr=subprocess.DEVNULL, check=False)
        self.faulty.kill()
        self.faulty.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self, *args):
        self.all = [Node(self, rank) for rank in range(self.nodes)]
        for node in self.all:
            node.mount(*args)
        for node in self.all:
            wait_until(node.is_ready, f"node {node.rank}")

    def told(self, key):
        """A count of all nodes, by what they wrote last."""
        total = 0
        for name in os.listdir(f"{self.folder}/logs"):
            if name.endswith("-node.json"):
                with open(f"{self.folder}/logs/{name}", encoding="utf-8") as f:
                    total += json.load(f)[key]
        return total

    def check_once(self, more):
        """Nothing was read again, unless a node took another one for dead: on a machine that did not let it run for a while."""
        if more:
            for node in self.all:
                node.end()
            assert self.told("lost_peers") and len(more) < 20, more

    def calls(self):
        """How many of each operation since the last call, by (operation, path)."""
        with open(self.journal, encoding="utf-8") as f:
            rows = f.read().splitlines()
        os.truncate(self.journal, 0)
        return collections.Counter(tuple(row.split(" ", 1)) for row in rows)


def fail(error):
    raise error


def walk(root, parts=PARTS):
    """All that a tree has: attributes, names, links, data."""
    found = {}
    for part in parts:
        for folder, folders, files in os.walk(f"{root}/{part}", onerror=fail):
            folders.sort()
            below = folder[len(root):]
            found[below] = sorted(folders + files)
            for name in sorted(files):
                path = f"{folder}/{name}"
                s = os.lstat(path)
                if os.path.islink(path):
                    data = os.readlink(path)
                else:
                    with open(path, "rb") as f:
                        data = f.read()
                found[f"{below}/{name}"] = (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_nlink, s.st_uid, data)
    return found


def in_threads(calls):
    """The results of calls that run at the same time."""
    results = [None] * len(calls)

    def run(i):
        try:
            results[i] = calls[i]()
        except BaseException as wrong:  # pylint: disable=broad-exception-caught
            results[i] = wrong

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def test_once():
    """What four nodes read at the same time leaves the target once, and all of them have it."""
    with Job() as job:
        want = walk(SOURCE)
        job.start("-t", job.target)
        job.calls()
        got = in_threads([lambda node=node: walk(node.path(job.view)) for node in job.all])
        calls = job.calls()
        for node, found in zip(job.all, got):
            wrong = [path for path in want if found.get(path) != want[path]]
            assert not wrong and len(found) == len(want), (node.rank, wrong[:5])
        opens = {path: n for (op, path), n in calls.items() if op == "open"}
        files = [path for path, found in want.items() if not isinstance(found, list)]
        twice = {path: n for path, n in opens.items() if n > 1}
        job.check_once(twice)
        assert set(opens) == {path for path in files if want[path][1]}, "not all were read"
        job.check_once({path: n for (op, path), n in calls.items() if op == "readdir" and n > 1})
        in_threads([lambda node=node: walk(node.path(job.view)) for node in job.all])
        job.check_once({key: n for key, n in job.calls().items() if key[0] in ("open", "read", "readdir")})


def test_local():
    """Of the whole tree, only what is shared comes from other nodes: each node sees its own host name and disks."""
    with Job() as job:
        job.start("-t", "/", "--shared", job.target)
        job.calls()

        def look(node):
            read = {}
            for name in ("etc/hostname", "mnt/file"):
                with open(node.path(f"{job.view}/{name}"), encoding="ascii") as f:
                    read[name] = f.read()
            return read, walk(node.path(job.view + job.target), ("json",))

        want = walk(SOURCE, ("json",))
        for node, (own, shared) in zip(job.all, in_threads([lambda node=node: look(node) for node in job.all])):
            assert set(own.values()) == {f"node{node.rank}\n"}, (node.rank, own)
            assert shared == want, node.rank
        job.check_once({path: n for (op, path), n in job.calls().items() if op == "open" and n > 1})


def test_deaths():
    """Nodes that are killed while all read end without a view; the others read on, and have right bytes."""
    with Job() as job:
        want = walk(SOURCE)
        job.start("-t", job.target)
        results = {}
        readers = [threading.Thread(target=lambda node=node: results.update({node.rank: walk(node.path(job.view))})) for node in job.all[:2]]
        for reader in readers:
            reader.start()
        job.all[2].kill()
        job.all[3].daemon.send_signal(signal.SIGKILL)
        for reader in readers:
            reader.join()
        for node in job.all[:2]:
            wrong = [path for path in want if results[node.rank].get(path) != want[path]]
            assert not wrong, (node.rank, wrong[:5])
        for node in job.all[2:]:
            wait_until(lambda node=node: not node.has_view(), "the end of a killed node's view")
        assert walk(job.all[0].path(job.view), ("json",)) == {p: v for p, v in want.items() if p.startswith("/json")}


def test_changes():
    """All nodes see a changed file after --revalidate, at any depth of the tree, and never a mix."""
    with Job() as job:
        subprocess.run(["umount", "-l", job.target], check=True)
        with open(f"{job.target}/file", "w", encoding="ascii") as f:
            f.write("one")
        job.start("-t", job.target, "--revalidate", "1", "--enoent-ttl", "300")

        def read(node, name="file"):
            try:
                with open(node.path(f"{job.view}/{name}"), encoding="ascii") as f:
                    return f.read()
            except OSError as e:
                return errno.errorcode[e.errno]

        assert in_threads([lambda node=node: read(node) for node in job.all]) == ["one"] * NODES
        assert in_threads([lambda node=node: read(node, "new") for node in job.all]) == ["ENOENT"] * NODES
        with open(f"{job.target}/file", "w", encoding="ascii") as f:
            f.write("another one")
        with open(f"{job.target}/new", "w", encoding="ascii") as f:
            f.write("new")
        for node in job.all:
            wait_until(lambda node=node: read(node) == "another one" and read(node, "new") == "new", f"the change at {node.rank}")


def rsh_of(job):
    """A stand-in for ssh: runs the command in the name spaces of the node with this name."""
    path = f"{job.dir}/rsh"
    nodes = "".join(f"node{node.rank}) pid={node.holder.pid} ;;\n" for node in job.all)
    with open(path, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\ncase $1 in\n{nodes}*) echo no such host >&2; exit 255 ;;\nesac\n"
                'shift; exec nsenter --mount=/proc/$pid/ns/mnt --uts=/proc/$pid/ns/uts sh -c "$*"\n')
    os.chmod(path, 0o755)
    return path


def cache(*args):
    return subprocess.run([AUGER, "cache", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_launch():
    """launch starts a view on each host of a list, stop ends them all, and both say which nodes fail."""
    with Job() as job:
        job.all = [Node(job, rank) for rank in range(NODES)]
        names = ",".join(f"node{node.rank}" for node in job.all)
        options = ["--rsh", rsh_of(job), "--listen", "127.0.0.1", "-t", job.target, "-j", job.folder]
        done = cache("launch", "--dry-run", "--hosts", names, *options, job.view)
        assert done.returncode == 0 and len(done.stdout.splitlines()) == NODES and not os.listdir(job.folder), done
        done = cache("launch", "--hosts", names + ",node9", *options, job.view)
        assert done.returncode == 1 and "node9: no such host" in done.stderr, done
        assert not [node.rank for node in job.all if node.has_view()], "a failed launch leaves views"
        done = cache("launch", "--hosts", names, *options, job.view)
        try:
            assert done.returncode == 0 and f"on {NODES} nodes; ready after" in done.stderr and done.stdout == job.folder + "\n", done
            again = cache("launch", "--hosts", names, *options, job.view)
            assert again.returncode == 1 and "a view was launched with this folder" in again.stderr, again
            want = walk(SOURCE, ("json",))
            for node in job.all:
                assert walk(node.path(job.view), ("json",)) == want, node.rank
            shown = cache("stats", "--cluster", "-f", "json", job.folder)
            assert shown.returncode == 0, shown
            head = json.loads(shown.stdout)
            assert (head["nodes"], head["nodes_up"], head["transport"]) == (NODES, NODES, "tcp"), head
            with open(f"{job.folder}/cluster/launch.json", encoding="ascii") as f:
                assert json.load(f)["hosts"] == names.split(",")
            daemons = [json.load(open(f"{job.folder}/logs/{name}", encoding="utf-8")) for name in os.listdir(f"{job.folder}/logs")
                       if name.endswith("-node.json")]
            assert sorted(d["rank"] for d in daemons if d["state"] == "serving") == list(range(NODES)), daemons
            os.kill(next(d["pid"] for d in daemons if d["rank"] == 3 and d["state"] == "serving"), signal.SIGKILL)
            wait_until(lambda: not job.all[3].has_view(), "the end of a killed node's view")
        finally:
            done = cache("stop", "--job", job.folder)
        assert done.returncode == 0 and "3 of 4 nodes ended in order; killed before: rank 3 (node3)" in done.stderr, done
        assert not [node.rank for node in job.all if node.has_view()], "a stopped launch leaves views"
        left = [name for name in os.listdir(f"{job.folder}/cluster") if not name.endswith((".log", ".book"))]
        assert not left, left
        done = cache("stop", "--job", job.folder)
        assert done.returncode == 1 and "nothing was launched" in done.stderr, done


def processes_of(node):
    """Those in the node's mount name space, besides the holder."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{name}/ns/mnt") == os.readlink(f"/proc/{node.holder.pid}/ns/mnt"):
                found.add(int(name))
    return found - {node.holder.pid}


def is_mounted(node, path):
    with open(f"/proc/{node.holder.pid}/mountinfo", encoding="utf-8") as f:
        return any(line.split()[4] == path for line in f)


def in_node(node, *args):
    return subprocess.run(node.command(*args), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_epilog():
    """After a SIGKILL of daemon and guardian the view stays; the epilog of the job detaches it, and no view that is served."""
    with Job(1) as job:
        job.all = [node] = [Node(job, 0)]
        other = f"{job.dir}/other"
        os.mkdir(other)
        done = in_node(node, "mount", "-t", f"{SOURCE}/json", other)
        assert done.returncode == 0, done
        try:
            before = processes_of(node)
            node.mount("-t", job.target)
            wait_until(node.is_ready, "the view")
            killed = processes_of(node) - before
            assert len(killed) > 1 and before, (killed, before)
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in killed:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
            node.daemon.wait()
            wait_until(lambda: processes_of(node) == before, "their end")
            assert is_mounted(node, job.view), "the guardian was killed, too"
            done = in_node(node, "stop", "--epilog")
            assert done.returncode == 0 and f"{job.view}: its daemon had died; detached" in done.stderr and other not in done.stderr, done
            assert not is_mounted(node, job.view)
            assert sorted(os.listdir(node.path(other))) == sorted(os.listdir(f"{SOURCE}/json"))
            done = in_node(node, "stop", "--epilog")
            assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        finally:
            done = in_node(node, "umount", "--lazy", other)
        assert done.returncode == 0, done


def main():
    tests = [value for name, value in globals().items() if name.startswith("test_") and callable(value)]
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("1..0 # SKIP needs root and /dev/fuse")
        return 0
    if len(sys.argv) > 3:
        tests = [t for t in tests if t.__name__[5:] in sys.argv[3:]]
    failed = 0
    for i, test in enumerate(tests):
        words = ""
        try:
            test()
        except BaseException:  # pylint: disable=broad-exception-caught
            import traceback
            traceback.print_exc()
            failed += 1
            words = "not "
        print(f"{words}ok {i + 1} - {test.__name__[5:]}", flush=True)
    print(f"1..{len(tests)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
