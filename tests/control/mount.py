# SPDX-License-Identifier: MIT
"""A mounted set of control files, that is gone again whatever happens."""

import os
import signal
import subprocess
import sys
import tempfile
import time


class Mount:
    """with Mount(auger, options...) as m: m.path is the folder, m.daemon the process."""

    def __init__(self, auger, *options):
        self.command = [os.path.realpath(auger), "control", "--foreground", *options]
        self.path = tempfile.mkdtemp(prefix="auger-control-")
        self.daemon = None

    def __enter__(self):
        os.chmod(self.path, 0o755)
        self.log = open(self.path + ".log", "w+", encoding="utf-8")
        self.daemon = subprocess.Popen([*self.command, self.path], stderr=self.log,
                                       stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not os.path.ismount(self.path):
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                words = self.words()
                self.__exit__()
                raise RuntimeError("not mounted: " + words)
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            try:
                self.daemon.wait(10)
            except subprocess.TimeoutExpired:
                print("the daemon does not end: " + self.words(), file=sys.stderr)
                self.daemon.kill()
                self.daemon.wait()
        if os.path.ismount(self.path) or self.is_stale():
            subprocess.run(["fusermount3", "-u", "-z", self.path], check=False)
        os.rmdir(self.path)
        self.log.close()
        os.unlink(self.path + ".log")

    def is_stale(self):
        """Did the daemon die and leave the mount behind?"""
        try:
            os.stat(self.path)
        except OSError:
            return True
        return False

    def words(self):
        self.log.seek(0)
        return self.log.read()

    def file(self, name):
        return os.path.join(self.path, name)

    def read(self, name):
        with open(self.file(name), "rb", buffering=0) as f:
            return b"".join(iter(lambda: f.read(1 << 17), b""))

    def text(self, name):
        return self.read(name).decode()

    def write(self, text, name="kpctl"):
        """One write(2); its errno, or 0."""
        fd = os.open(self.file(name), os.O_WRONLY)
        try:
            os.write(fd, text if isinstance(text, bytes) else text.encode())
            return 0
        except OSError as e:
            return e.errno
        finally:
            os.close(fd)

    def status(self, name="status"):
        """The lines as a dictionary; those of cores are dictionaries, too."""
        values = {}
        for line in self.text(name).splitlines():
            words = line.split()
            if words[0].startswith("cpu") or words[0] == "stream":
                values[words[0]] = dict(zip(words[1::2], words[2::2]))
            else:
                values[words[0]] = words[1]
        return values
