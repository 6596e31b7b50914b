#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rights.py AUGER FAULTY: views of storage that decides itself what each user may do, and takes root for nobody."""
import errno
import json
import os
import subprocess
import sys
import time

from views import Bench, run_tests

FAULTY = os.path.abspath(sys.argv[2])
ALICE, BOB, EVE = 65534, 65533, 65532
TEAM, OUT = 64001, 64002
RIGHTS = f"""/alices u{ALICE} r--
/teams g{TEAM} r--
/kept g{OUT} ---
/kept u{ALICE} r--
/kept u{BOB} r--
/nobodys * ---
/runs u{BOB} r-x
/folder u{ALICE} r-x
/folder u{BOB} --x
/folder/alices u{ALICE} r--
/listed u{EVE} r--
"""
FILES = ("/open", "/alices", "/teams", "/kept", "/nobodys", "/runs", "/folder/alices", "/folder/open", "/listed/open")
NAMES = (*FILES, "/folder/", "/listed/", "/none")
# user, further groups
USERS = ((ALICE, []), (BOB, [TEAM]), (EVE, [TEAM, OUT]), (ALICE, [OUT]), (BOB, [OUT, TEAM]), (0, []))


def as_user(user, groups, call, back=None):
    """What the call returns in a process of the user, as JSON has it. back: a second call, as root again."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setresgid(user, user, 0 if back else user)
            os.setresuid(user, user, 0 if back else user)
            result = call()
            if back:
                os.setresuid(0, 0, 0)
                result = back(result)
            os.write(theirs, json.dumps(result).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def told(call, *args):
    try:
        return call(*args)
    except OSError as e:
        return e.errno


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def tried(folder, name):
    """What the user may do with the path: rights, names or data, or the number of an error."""
    path = folder + name
    rights = [os.access(path, wanted) for wanted in (os.F_OK, os.X_OK, os.R_OK, os.R_OK | os.X_OK)]
    cwd = told(os.chdir, path)
    os.chdir("/")
    if name.endswith("/"):
        return [name, rights, cwd, told(lambda: sorted(os.listdir(path))), told(os.stat, path + "/none")]
    return [name, rights, cwd, told(read, path)]


class RightsBench(Bench):
    """A target that knows its users, and views that admit all of them."""

    def __init__(self):
        super().__init__()
        os.chmod(self.dir, 0o755)
        self.faulty, self.rights, self.journal = (f"{self.dir}/{name}" for name in ("faulty", "rights", "journal"))
        for folder in (self.faulty, f"{self.target}/folder", f"{self.target}/listed"):
            os.mkdir(folder)
        self.storage = None

    def make(self, modes):
        """Files whose mode bits are these: of users who own them, or of nobody."""
        for name in FILES:
            with open(self.target + name, "w", encoding="ascii") as f:
                f.write(name)
            os.chmod(self.target + name, modes)

    def start(self, rights):
        self.grant(rights)
        env = dict(os.environ, FAULTY_RIGHTS=self.rights, FAULTY_JOURNAL=self.journal)
        self.storage = subprocess.Popen([FAULTY, self.target, "/dev/null", self.faulty], env=env)
        until = time.monotonic() + 20
        while not os.path.ismount(self.faulty):
            assert self.storage.poll() is None and time.monotonic() < until, "no storage"
            time.sleep(0.01)

    def grant(self, rights):
        with open(f"{self.rights}.new", "w", encoding="ascii") as f:
            f.write(rights)
        os.rename(f"{self.rights}.new", self.rights)

    def show(self, *options):
        return self.mount("--allow-other", *options, target=self.faulty)

    @staticmethod
    def try_all(folder, user, groups, names=NAMES):
        return as_user(user, groups, lambda: [tried(folder, name) for name in names])

    def look(self, name, user):
        """What the user reads, or the error's number."""
        return as_user(user, [], lambda: told(read, self.view + name))

    def asked(self, line):
        with open(self.journal, encoding="utf-8") as f:
            return f.read().splitlines().count(line)

    def close(self):
        self.end()
        if self.storage:
            subprocess.run(["umount", "-l", self.faulty], check=False)
            self.storage.kill()  # another mount namespace may have a copy of the mount
            self.storage.wait(60)
        super().close()


def compare(bench, users):
    for user, groups in users:
        want = bench.try_all(bench.faulty, user, groups)
        got = bench.try_all(bench.view, user, groups)
        assert got == want, (user, groups, [(w, g) for w, g in zip(want, got) if w != g])


def test_as_storage_decides(bench):
    """Each user may do what storage allows, whatever the mode bits say, also with what was read for another user."""
    bench.make(0o644)
    bench.start(RIGHTS)
    for options in ((), ("--exact",), ("--revalidate", "1000"), ("--passthrough",)):
        bench.show(*options)
        compare(bench, USERS)
        compare(bench, reversed(USERS))
        assert bench.look("/alices", ALICE) == "/alices" and bench.look("/alices", EVE) == errno.EACCES
        assert bench.look("/folder/alices", ALICE) == "/folder/alices" and bench.look("/folder/alices", EVE) == errno.EACCES
        assert bench.look("/alices", 0) == errno.EACCES, "root is nobody there"
        assert not bench.end()


def test_modes_refuse(bench):
    """Mode bits that grant nothing hide nothing that storage grants."""
    bench.make(0)
    os.chmod(f"{bench.target}/folder", 0)
    bench.start(RIGHTS)
    bench.show()
    compare(bench, USERS)
    assert bench.look("/folder/alices", ALICE) == "/folder/alices"


def test_root_is_nobody(bench):
    """Where mode bits tell, but storage takes root for nobody, files of users are read in their name."""
    rights = ""
    bench.make(0o644)
    for name, owner in (("/alices", ALICE), ("/runs", BOB), ("/folder", ALICE), ("/listed", EVE)):
        os.chown(bench.target + name, owner, owner)
        os.chmod(bench.target + name, 0o700 if os.path.isdir(bench.target + name) else 0o400)
        rights += f"{name} u{owner} r-x\n"
    bench.start(rights)
    for options in ((), ("--exact",), ("--max-file", "1")):
        bench.show("--rights", "modes", *options)
        for name, owner in (("/alices", ALICE), ("/runs", BOB), ("/folder/alices", ALICE), ("/listed/open", EVE), ("/open", BOB)):
            assert bench.look(name, owner) == name, (options, name, bench.look(name, owner))
            if name != "/open":
                assert bench.look(name, EVE if owner != EVE else BOB) == errno.EACCES, (options, name)
        assert not bench.end()


def test_modes_do_not_tell(bench):
    """What storage refuses to root although modes grant it to all is read for nobody: it would be cached for all."""
    bench.make(0o644)
    bench.start(f"/alices u{ALICE} r--\n")
    bench.show("--rights", "modes")
    assert bench.look("/alices", ALICE) == errno.EACCES and bench.look("/alices", EVE) == errno.EACCES
    assert bench.look("/open", EVE) == "/open"


def test_asked_once(bench):
    """Storage is asked once for each user, file and right; of what was refused, too."""
    bench.make(0o644)
    bench.start(RIGHTS)
    bench.show()
    for _ in range(3):
        for user in (ALICE, BOB, EVE):
            as_user(user, [], lambda: [told(lambda: open(f"{bench.view}/folder/alices", encoding="ascii").close()) for _ in range(50)])
    assert bench.asked("access /folder") == 3, bench.asked("access /folder")
    assert bench.asked("access /folder/alices") == 2, "who may not search the folder asks for no file"
    assert bench.asked("open /folder/alices") == 0, "opening a file reads nothing"


def test_taken_away(bench):
    """With --revalidate an answer is asked for again; data that is cached is not given to who lost the right."""
    bench.make(0o644)
    bench.start(RIGHTS)
    bench.show("--revalidate", "0.2")
    assert bench.look("/alices", ALICE) == "/alices"
    for rights, want in ((RIGHTS.replace(f"/alices u{ALICE} r--", f"/alices u{BOB} r--"), errno.EACCES), (RIGHTS, "/alices")):
        bench.grant(rights)
        until = time.monotonic() + 60
        while bench.look("/alices", ALICE) != want:
            assert time.monotonic() < until, want
    assert bench.look("/alices", EVE) == errno.EACCES


def test_open_file(bench):
    """Who has a file open reads it in the name of who opened it: also where root, or another user, has the descriptor."""
    bench.make(0o644)
    with open(f"{bench.target}/alices", "wb") as f:
        f.write(b"x" * 3000000)
    bench.start(RIGHTS)
    bench.show()
    got = as_user(ALICE, [], lambda: open(f"{bench.view}/alices", "rb"), lambda f: [len(f.read()), told(read, f"{bench.view}/alices")])
    assert got == [3000000, errno.EACCES], got


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root, to become several users")
        return 0
    return run_tests([(n, t) for n, t in globals().items() if n.startswith("test_")], RightsBench)


sys.exit(main())
