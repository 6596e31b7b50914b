#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""user.py AUGER: the cache of a user who is not root, by fusermount3. Run as root, in a mount namespace where all users may
use FUSE."""
import errno
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from views import run_tests

USER, OTHER = 65534, 65533
# $1: a folder for the device; then the command. Views of other tests would stay mounted here.
ENTER = """umount -a -l -t fuse.auger 2>/dev/null
mount -t tmpfs -o mode=755 none "$1" && mknod -m 666 "$1/fuse" c 10 229 && mount --bind "$1/fuse" /dev/fuse || exit 99
shift; exec "$@" """
LOOK = """import os, sys
try: print(open(sys.argv[1]).read(), end='')
except OSError as e: print(e.errno)"""


# What this user may do with each path.
TRY = """import os, sys
for name in sys.argv[2:]:
    path = f"{sys.argv[1]}/{name}"
    try: print(name, os.access(path, os.R_OK), sorted(os.listdir(path)) if os.path.isdir(path) else open(path).read())
    except OSError as e: print(name, os.access(path, os.R_OK), e.errno)"""
# What may be done with each path; a number is the errno. A user's view cannot read a file that may only be run.
RIGHTS = """import os, subprocess, sys
def told(call, *args):
    try: return bool(call(*args))
    except OSError as e: return e.errno
for name in sys.argv[2:]:
    p = sys.argv[1] + "/" + name
    print(name, [told(call, *args) for call, *args in ((os.open, p, 0), (os.listdir, p), (os.chdir, p), (os.stat, p + "/x"),
          (os.open, p + "/x", 0), (os.access, p, 1), (os.access, p, 4), (os.access, p, 5),
          *([(subprocess.call, [p])] if os.path.isfile(p) and os.access(p, os.R_OK) else []))])"""
NO_CAPABILITIES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
NAMESPACE = ("unshare", "--user", "--map-root-user")
WALK = "import os, sys\nfor _ in range(1000): os.stat(sys.argv[1])"
REQUEST = 40  # bytes of the least one: struct fuse_in_header of linux/fuse.h
NOBODY = 0xffffffff
# An access list as (tag, rights, id). Source: linux/posix_acl_xattr.h.
LISTS = {
    "let in": [(1, 6, NOBODY), (2, 4, USER), (4, 0, NOBODY), (16, 4, NOBODY), (32, 0, NOBODY)],
    "kept out": [(1, 6, NOBODY), (2, 0, USER), (4, 4, NOBODY), (16, 4, NOBODY), (32, 4, NOBODY)],
    "masked": [(1, 6, NOBODY), (2, 4, USER), (4, 4, NOBODY), (16, 0, NOBODY), (32, 4, NOBODY)],
    "by group": [(1, 6, NOBODY), (4, 0, NOBODY), (8, 4, USER), (16, 4, NOBODY), (32, 0, NOBODY)],
    "group out": [(1, 6, NOBODY), (4, 4, NOBODY), (8, 0, USER), (16, 4, NOBODY), (32, 4, NOBODY)],
    "another's": [(1, 6, NOBODY), (2, 4, OTHER), (4, 0, NOBODY), (16, 4, NOBODY), (32, 0, NOBODY)],
    "folder": [(1, 7, NOBODY), (2, 5, USER), (4, 0, NOBODY), (16, 5, NOBODY), (32, 0, NOBODY)],
}


class Bench:
    """Folders of the user, and a copy of AUGER that the user can run."""

    def __init__(self, auger):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="auger-user-"))
        os.chmod(self.dir, 0o755)
        self.auger = shutil.copy(auger, f"{self.dir}/auger-1")  # also of another name
        self.target, self.view, self.home = (f"{self.dir}/{name}" for name in ("target", "view", "home"))
        for folder in (self.target, self.view, self.home):
            os.mkdir(folder)
        os.chown(self.view, USER, USER)
        os.chown(self.home, USER, USER)
        for name, mode in (("open", 0o644), ("closed", 0o600)):
            with open(f"{self.target}/{name}", "w", encoding="ascii") as f:
                f.write(name)
            os.chmod(f"{self.target}/{name}", mode)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.home, "TMPDIR": self.home}

    def make_all_modes(self):
        """Files and folders of root and of the user; their names."""
        names = []
        for mode in range(0, 0o1000, 0o11):
            for kind, owner in (("file", 0), ("file", USER), ("folder", 0), ("folder", USER)):
                names.append(f"{kind}-{owner}-{mode:03o}")
                path = f"{self.target}/{names[-1]}"
                if kind == "folder":
                    os.mkdir(path)
                with open(path + "/x" if kind == "folder" else path, "w", encoding="ascii") as f:
                    f.write("#!/bin/true\n")
                os.chmod(path, mode)
                os.chown(path, owner, owner)
        return names

    def call(self, *words, user=USER):
        return subprocess.run(words, user=user, group=user, extra_groups=[], env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, cwd=self.home, check=False)

    def cache(self, *words):
        return self.call(self.auger, "cache", *words)

    def mount(self, *words, user=USER):
        done = self.call(self.auger, "cache", "mount", "--target", self.target, *words, self.view, user=user)
        assert done.returncode == 0 and "ready after" in done.stderr, done

    def look(self, name, user=USER):
        return self.call("/usr/bin/python3", "-c", LOOK, f"{self.view}/{name}", user=user).stdout.strip()

    @staticmethod
    def set_list(path, kind, entries):
        os.setxattr(path, f"system.posix_acl_{kind}", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))

    def set_lists(self):
        """Sets access lists, if the target's file system has any. The folder's default lists are of the files made in it."""
        for name, entries in LISTS.items():
            path = f"{self.target}/{name}"
            if name == "folder":
                os.mkdir(path)
            else:
                with open(path, "w", encoding="ascii") as f:
                    f.write(name)
            try:
                self.set_list(path, "access", entries)
            except OSError as e:
                assert e.errno == errno.ENOTSUP, e
                return False
        for name, mode in (("inherited", 0o644), ("inherited masked", 0o600)):
            self.set_list(f"{self.target}/folder", "default", LISTS["let in"])
            with open(f"{self.target}/folder/{name}", "w", encoding="ascii", opener=lambda p, f, mode=mode: os.open(p, f, mode)) as f:
                f.write(name)
        return True

    def requested(self):
        """Bytes of the requests that the daemon has read. It also polls: reads that find none have no bytes."""
        with open(f"/proc/{self.daemon()[0]}/io", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("rchar:"))

    def daemon(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return [int(line.split(" auger:", 1)[1].split(":")[0]) for line in f if f" {self.view} " in line]

    def end(self):
        """As root, which may also end root's mounts."""
        while self.daemon():
            subprocess.run(["umount", "-l", self.view], check=True)

    def close(self):
        self.end()
        shutil.rmtree(self.dir)


def test_look(bench):
    """The user may read what the target allows; no other user may enter, not even root."""
    bench.mount()
    assert bench.look("open") == "open" and bench.look("closed") == str(errno.EACCES)
    assert bench.look("none") == str(errno.ENOENT)
    for user in (OTHER, 0):
        assert bench.look("open", user) == str(errno.EACCES), user
    done = bench.cache("stats", bench.view)
    assert done.returncode == 0 and "\ncombined " in done.stdout, done
    assert bench.cache("reset", bench.view).returncode == 0
    assert bench.look("open") == "open"
    done = bench.cache("umount", bench.view)
    assert done.returncode == 0 and not bench.daemon(), done


def test_in_use(bench):
    bench.mount()
    with subprocess.Popen(["sh", "-c", "cd \"$0\" && echo on && read x", bench.view], user=USER, group=USER,
                          extra_groups=[], env=bench.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout.readline() == "on\n"
        done = bench.cache("umount", bench.view)
        assert done.returncode == 1 and f"in use by sh ({user.pid})" in done.stderr, done
        done = bench.call(bench.auger, "cache", "umount", bench.view, user=0)
        assert done.returncode == 1 and f"in use by sh ({user.pid})" in done.stderr, done
        user.stdin.close()
    done = bench.cache("umount", bench.view)
    assert done.returncode == 0 and not done.stderr and not bench.daemon(), done


def test_ends(bench):
    """SIGTERM unmounts, and a killed daemon leaves nothing."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        bench.mount()
        pid, = bench.daemon()
        ended = os.pidfd_open(pid)
        os.kill(pid, number)
        assert select.select([ended], [], [], 120)[0]
        os.close(ended)
        until = time.monotonic() + 60
        while bench.daemon() and number == signal.SIGKILL:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert not bench.daemon()


def test_owner_ends(bench):
    """The user who mounted a view of all users unmounts it."""
    done = bench.call(bench.auger, "cache", "mount", "--allow-other", "--target", bench.target, bench.view, user=0)
    assert done.returncode == 0, done
    done = bench.cache("umount", bench.view)
    assert done.returncode == 1 and done.stderr == (f"auger cache umount: {bench.view}: user 0's cache; "
                                                    "only that user and root may unmount it\n"), done
    done = bench.cache("mount", "--target", bench.target, bench.view)
    assert done.returncode == 1 and f"{bench.view}: user 0's process {bench.daemon()[0]} serves {bench.target} there" in done.stderr, done
    done = bench.call(bench.auger, "cache", "umount", bench.view, user=0)
    assert done.returncode == 0 and not bench.daemon(), done


FORGE = """import array, os, socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
subprocess.run(["fusermount3", "-o", f"fsname={sys.argv[2]},subtype=auger", "--", sys.argv[1]], check=True,
               pass_fds=[theirs.fileno()], env=dict(os.environ, _FUSE_COMMFD=str(theirs.fileno())))
fd = array.array("i", ours.recvmsg(1, socket.CMSG_SPACE(4))[1][0][2])[0]
print("on", flush=True)
sys.stdin.read()"""


def test_forged(bench):
    """A user's mount that names root's daemon as its own: root unmounts it, and the daemon is not terminated."""
    view = f"{bench.dir}/roots"
    os.mkdir(view)
    done = bench.call(bench.auger, "cache", "mount", "--target", bench.target, view, user=0)
    assert done.returncode == 0, done
    try:
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            pid = next(int(line.split(" auger:")[1].split(":")[0]) for line in f if f" {view} " in line)
        with subprocess.Popen(["/usr/bin/python3", "-c", FORGE, bench.view, f"auger:{pid}:{bench.target}"], user=USER, group=USER,
                              extra_groups=[], env=bench.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
            assert user.stdout.readline() == "on\n"
            assert bench.daemon() == [pid], open("/proc/self/mountinfo", encoding="utf-8").read()
            done = bench.call(bench.auger, "cache", "mount", "--target", bench.target, bench.view, user=0)
            assert done.returncode == 1 and f"user {USER}'s process" in done.stderr, done
            done = bench.call(bench.auger, "cache", "umount", bench.view, user=0)
            assert done.returncode == 0 and not done.stderr and not bench.daemon(), done
            user.stdin.close()
        assert sorted(os.listdir(view)) == sorted(os.listdir(bench.target)), os.listdir(view)
    finally:
        done = bench.call(bench.auger, "cache", "umount", view, user=0)
    assert done.returncode == 0, done


def test_no_device(bench):
    """A user who may not use FUSE gets a one-line message."""
    os.chmod("/dev/fuse", 0o600)
    try:
        done = bench.cache("mount", "--target", bench.target, bench.view)
    finally:
        os.chmod("/dev/fuse", 0o666)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "/dev/fuse: Permission denied" in done.stderr, done


def test_rights(bench):
    """Permissions are those of the target: for the user, and for root's programs without capabilities or with those of
    a user namespace, also after other programs of root used a path."""
    names = bench.make_all_modes()
    callers = [(USER, ()), (0, NO_CAPABILITIES), (0, ())]
    if bench.call(*NAMESPACE, "true", user=0).returncode == 0:
        callers.insert(2, (0, NAMESPACE))
    for user, prefix in callers:
        want = bench.call(*prefix, "/usr/bin/python3", "-c", RIGHTS, bench.target, *names, user=user).stdout.splitlines()
        assert len(want) == len(names)
        for options in ((), ("--exact",), ("--rights", "storage")):
            os.chown(bench.view, user, user)
            bench.mount(*options, user=user)
            bench.call("/usr/bin/python3", "-c", RIGHTS, bench.view, *names, user=user)
            got = bench.call(*prefix, "/usr/bin/python3", "-c", RIGHTS, bench.view, *names, user=user).stdout.splitlines()
            assert bench.call(bench.auger, "cache", "umount", bench.view, user=user).returncode == 0
            wrong = [(w, g) for w, g in zip(want, got) if w != g]
            assert len(got) == len(want) and not wrong, (user, prefix, options, len(wrong), wrong[:5])


def test_access_lists(bench):
    """In the user's own view, and in one of all users: as in the target."""
    if not bench.set_lists():
        return
    names = (*LISTS, "folder/inherited", "folder/inherited masked")
    tried = [bench.call("/usr/bin/python3", "-c", TRY, bench.target, *names).stdout]
    storage = ("--rights", "storage")
    for user, *options in ((USER,), (USER, "--exact"), (USER, *storage), (0, "--allow-other"), (0, "--allow-other", "--exact"),
                           (0, "--allow-other", *storage)):
        os.chown(bench.view, user, user)
        bench.mount(*options, user=user)
        tried.append(bench.call("/usr/bin/python3", "-c", TRY, bench.view, *names).stdout)
        assert bench.call(bench.auger, "cache", "umount", bench.view, user=user).returncode == 0
    assert "let in True let in\n" in tried[0] and "inherited True inherited\n" in tried[0] and "masked False 13\n" in tried[0], tried
    assert tried[1:] == tried[:1] * 6, tried


def test_walks(bench):
    """A path of other owners is requested once, not each time. The user owns the root of his view."""
    os.mkdir(f"{bench.target}/folder")
    for user, *options in ((USER,), (0, "--allow-other")):
        os.chown(bench.view, user, user)
        bench.mount(*options, user=user)
        before = bench.requested()
        done = bench.call("/usr/bin/python3", "-c", WALK, f"{bench.view}/folder")
        assert done.returncode == 0 and bench.requested() - before < 500 * REQUEST, (user, done)
        assert bench.call("stat", "-c", "%u %a", bench.view).stdout.split() == [str(user), "755"]
        assert bench.call(bench.auger, "cache", "umount", bench.view, user=user).returncode == 0


def test_others_not_asked(bench):
    """fusermount3 decides about --allow-other."""
    if subprocess.run(["grep", "-qsx", "user_allow_other", "/etc/fuse.conf"], check=False).returncode == 0:
        return
    done = bench.cache("mount", "--allow-other", "--target", bench.target, bench.view)
    assert done.returncode == 1 and "user_allow_other" in done.stderr, done


def test_read_write(bench):
    """Copper's control file is opened for writing, nothing else is, and its dumps are the user's."""
    job = f"{bench.target}/job"
    os.makedirs(f"{job}/metrics")
    for path in (job, f"{job}/metrics"):
        os.chown(path, USER, USER)
    with open(f"{job}/metrics/.spec_ioctl_file", "w", encoding="ascii"):
        pass
    os.chown(f"{job}/metrics/.spec_ioctl_file", USER, USER)
    bench.mount("--job-dir", job)
    done = bench.call("/usr/bin/python3", "-c", """import errno, fcntl, os, sys
fd = os.open(sys.argv[1] + "/job/metrics/.spec_ioctl_file", os.O_RDWR)
print(fcntl.ioctl(fd, 300, 0), os.access(sys.argv[1] + "/open", os.W_OK))
for call, *args in ((os.open, "/open", os.O_RDWR), (os.mkdir, "/job/new"), (os.unlink, "/job/metrics/.spec_ioctl_file")):
    try: call(sys.argv[1] + args[0], *args[1:])
    except OSError as e: print(errno.errorcode[e.errno])""", bench.view)
    assert done.stdout == "0 False\nEROFS\nEROFS\nEROFS\n", done
    written, = (name for name in os.listdir(f"{job}/metrics") if name.endswith("-operation_count.output"))
    assert os.stat(f"{job}/metrics/{written}").st_uid == USER
    assert bench.look("open") == "open" and bench.look("closed") == str(errno.EACCES)
    assert bench.cache("umount", bench.view).returncode == 0


def test_run(bench):
    """Python in the view, in the user's own mount namespace where possible; the user id stays."""
    for options in ((), ("--variables-only",)):
        done = bench.cache("run", *options, "--", "/usr/bin/python3", "-c",
                           "import json, os; print(json.__file__, os.getuid()); open('made', 'w')")
        assert done.returncode == 0 and " answered from memory\n" in done.stderr, done
        assert "in use" not in done.stderr and "fusermount3" not in done.stderr, done
        file, uid = done.stdout.split()
        assert uid == str(USER) and ("/view/usr/" in file or "mounted from the view: /usr" in done.stderr), done
        assert os.stat(f"{bench.home}/made").st_uid == USER
        os.unlink(f"{bench.home}/made")
        assert not os.listdir(bench.home), os.listdir(bench.home)


def main(auger):
    tests = [(n, t) for n, t in globals().items() if n.startswith("test_")]
    return run_tests(tests, lambda: Bench(auger))


def enter(auger):
    """Runs this test again where all users may use FUSE."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or not shutil.which("fusermount3"):
        print("1..0 # SKIP needs root, to become a user, and FUSE")
        return 0
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        print("1..0 # SKIP no mounts of one's own can be made here")
        return 0
    folder = tempfile.mkdtemp(prefix="auger-user-dev-")
    try:
        rc = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", folder,
                             sys.executable, __file__, auger, "inside"], check=False).returncode
    finally:
        os.rmdir(folder)
    if rc == 99:
        print("1..0 # SKIP no device for all can be made here")
        return 0
    return rc


sys.exit(main(sys.argv[1]) if sys.argv[2:] == ["inside"] else enter(os.path.abspath(sys.argv[1])))
