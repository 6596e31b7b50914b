# SPDX-License-Identifier: MIT
"""A target behind a file system that writes down each call that reaches it (faulty.c)."""
import collections
import os
import subprocess
import time

SOON_S = 15


class Counted:
    """The folder bench.dir/source, mounted at bench.target for the time of a with."""

    def __init__(self, bench, faulty):
        self.source, self.path, self.journal = f"{bench.dir}/source", bench.target, f"{bench.dir}/journal"
        self.rules, self.faulty = f"{bench.dir}/rules", faulty
        os.mkdir(self.source)
        for name in (self.rules, self.journal):
            with open(name, "w", encoding="ascii"):
                pass

    def __enter__(self):
        self.process = subprocess.Popen([self.faulty, self.source, self.rules, self.path], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=dict(os.environ, FAULTY_JOURNAL=self.journal))
        end = time.monotonic() + SOON_S
        while not os.path.ismount(self.path):
            assert time.monotonic() < end, "it was not mounted in time"
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], stderr=subprocess.DEVNULL, check=False)
        self.process.kill()
        self.process.wait()

    def rule(self, line):
        """What fails from now on; see faulty.c."""
        with open(self.rules + ".new", "w", encoding="ascii") as f:
            f.write(line + "\n")
        os.rename(self.rules + ".new", self.rules)

    def calls(self):
        """How many of each operation since the last call, by (operation, path)."""
        with open(self.journal, encoding="utf-8") as f:
            rows = f.read().splitlines()
        os.truncate(self.journal, 0)
        return collections.Counter(tuple(row.split(" ", 1)) for row in rows)
