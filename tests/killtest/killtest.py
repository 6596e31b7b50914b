#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""killtest.py TOOL [MOMENTS [NAME...]]: SIGKILL at random moments of every recorder and writer.

Whenever it comes: a program that has begun runs to its end, and none is left that has not; the output
is what it was before, or whole; no temporary file is left but the spool of a recording, and each spool
gives a profile, as the folder of heap files that is left does. Prints TAP, and what happened as a "#" line for docs/quality.md.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = ("import os, time\nopen('begun', 'w').write('1')\n"
           "while time.process_time() < 0.15:\n os.stat('.')\n for i in range(2000): pass\n"
           "open('done', 'w').write('all')\n")
COMMAND = ("--", "/usr/bin/python3", "-I", "-c", PROGRAM)
RECORDERS = {
    "record": (("record", "-o", "out.pb.gz", *COMMAND), "out.pb.gz"),
    "record_off_cpu": (("record", "--off-cpu", "-o", "out.pb.gz", *COMMAND), "out.pb.gz"),
    "stat": (("stat", "-o", "out", *COMMAND), "out"),
    "syscalls_bpf": (("syscalls", "--method", "bpf", "-o", "out", *COMMAND), "out"),
    "syscalls_perf": (("syscalls", "--method", "perf", "-o", "out", *COMMAND), "out"),
    "syscalls_ptrace": (("syscalls", "--method", "ptrace", "-o", "out", *COMMAND), "out"),
    "syscalls_path": (("syscalls", "--method", "ptrace", "--path", "-o", "out", *COMMAND), "out"),
    "heap": (("heap", "-o", "out.pb.gz", *COMMAND), "out.pb.gz"),
    "stages_run": (("stages", "run", "--reports", "reports", *COMMAND), None),
}
WRITERS = {
    "flame": (("flame", "in.folded", "-o", "out.svg"), "out.svg"),
    "convert": (("convert", "in.folded", "-o", "out.pb.gz"), "out.pb.gz"),
    "merge": (("merge", "in.folded", "in.folded", "-o", "out.pb.gz"), "out.pb.gz"),
    "view": (("view", "in.folded", "-o", "out.html"), "out.html"),
}
OLD = b"what was there before\n"
PATIENCE_S = 120


class Folder:
    """Where one run happens; processes in it are found by a word in their environment."""

    def __init__(self, tool):
        self.tool = tool
        self.path = tempfile.mkdtemp(prefix="auger-kill-")
        os.mkdir(self.file("tmp"))
        self.token = f"AUGER_KILLTEST={os.path.basename(self.path)}"
        name, value = self.token.split("=")
        self.environ = {**os.environ, "TMPDIR": self.file("tmp"), name: value}

    def file(self, name):
        return os.path.join(self.path, name)

    def has(self, name):
        return os.path.exists(self.file(name))

    def read(self, name):
        with open(self.file(name), "rb") as file:
            return file.read()

    def start(self, *args):
        return subprocess.Popen([self.tool, *args], cwd=self.path, env=self.environ, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, *args):
        return subprocess.run([self.tool, *args], cwd=self.path, env=self.environ, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

    def processes(self):
        """Those that run still."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if self.token.encode() in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def wait_until_quiet(self):
        end = time.time() + PATIENCE_S
        while self.processes():
            if time.time() > end:
                return False
            time.sleep(0.05)
        return True

    def files(self):
        found = {name for name in os.listdir(self.path) if name not in ("tmp", "in.folded", "reports")}
        return found | {"tmp/" + name for name in os.listdir(self.file("tmp"))}

    def remove(self):
        for pid in self.processes():
            os.kill(pid, 9)
        shutil.rmtree(self.path, ignore_errors=True)


def write_input(folder, stacks):
    """Enough that it takes a while."""
    with open(folder.file("in.folded"), "w", encoding="utf-8") as file:
        for i in range(stacks):
            file.write(";".join(f"function_{(i * 31 + d * d) % 997}" for d in range(20)) + f" {i % 7 + 1}\n")


def check_spool(folder, name):
    """The reason why it is not good, or None."""
    if os.path.getsize(folder.file(name)) == 0:
        return None  # nothing was sampled yet
    done = folder.run("record", "--recover", name, "-o", "recovered.pb.gz")
    if done.returncode != 0:
        return f"{name}: {done.stderr}"
    os.unlink(folder.file("recovered.pb.gz"))
    return None


def check_heap_folder(folder, name, result):
    """Heap files that are left are of the program, and each is shown."""
    files = os.listdir(folder.file(name))
    if any(not file.startswith("heap.") for file in files):
        result.reasons.append(f"{name} has {files}")
    if not files:
        return  # the program had not begun
    result.spools += 1
    done = folder.run("heap", "--show", name, "-o", "recovered.pb.gz")
    if done.returncode != 0:
        result.reasons.append(f"{name}: {done.stderr}")
    else:
        os.unlink(folder.file("recovered.pb.gz"))


class Result:
    """What happened at all moments of one recorder or writer."""

    def __init__(self):
        self.reasons = []
        self.begun = self.whole = self.spools = 0


def check_output(folder, output, whole, result):
    """whole: the bytes that it has, None: a profile that can be read, or any text."""
    if output is None:
        return
    got = folder.read(output)
    if got == OLD:
        return
    result.whole += 1
    if whole is not None and got != whole:
        result.reasons.append(f"{output} is neither the old nor the new: {got[:60]!r}")
    if whole is None and output.endswith(".pb.gz"):
        done = folder.run("report", output)
        if done.returncode != 0:
            result.reasons.append(done.stderr)
    elif whole is None and not got.endswith(b"\n"):
        result.reasons.append(f"{output} is cut: {got[-60:]!r}")


def is_complete(folder, name, whole):
    """The kernel can give a file a new name or replace a name, not both: between these, a complete output has a name of its own."""
    if whole is not None:
        return folder.read(name) == whole
    return name.startswith("out.pb.gz.") and folder.run("report", name).returncode == 0


def one_moment(tool, args, output, delay, is_late, whole, stacks, result):
    folder = Folder(tool)
    try:
        if output:
            with open(folder.file(output), "wb") as file:
                file.write(OLD)
        if stacks:
            write_input(folder, stacks)
        auger = folder.start(*args)
        if is_late:
            while not folder.has("begun") and auger.poll() is None:
                time.sleep(0.005)
        time.sleep(delay)
        auger.kill()
        auger.wait()
        if not folder.wait_until_quiet():
            result.reasons.append(f"processes are left after {delay:.4f} s: begun {folder.has('begun')}")
        if folder.has("begun"):
            result.begun += 1
            if not folder.has("done"):
                result.reasons.append(f"the program ended with auger after {delay:.4f} s")
        check_output(folder, output, whole, result)
        left = folder.files() - {output, "begun", "done"}
        for name in [name for name in left if name.endswith(".spool")]:
            left.remove(name)
            result.spools += 1
            reason = check_spool(folder, name)
            if reason:
                result.reasons.append(reason)
        for name in [name for name in left if name.startswith("tmp/auger-heap.")]:
            left.remove(name)
            check_heap_folder(folder, name, result)
        left -= {name for name in left if output and name.startswith(f"{output}.") and is_complete(folder, name, whole)}
        if left:
            result.reasons.append(f"left after {delay:.4f} s: {sorted(left)}")
    finally:
        folder.remove()


def undisturbed(tool, args, output, stacks):
    """How long it takes, and its output. None: it does not work here."""
    folder = Folder(tool)
    try:
        if stacks:
            write_input(folder, stacks)
        begin = time.time()
        status = folder.start(*args).wait()
        return (time.time() - begin, folder.read(output) if output else None) if status == 0 else (None, None)
    finally:
        folder.remove()


def test(tool, name, moments):
    recorder = RECORDERS.get(name)
    args, output = recorder or WRITERS[name]
    stacks = 0 if recorder else 20000
    seconds, whole = undisturbed(tool, args, output, stacks)
    if seconds is None:
        print(f"# {name}: does not work here")
        return True
    result = Result()
    for _ in range(moments):
        # of a recorder half of the moments are counted from the begin of its program
        one_moment(tool, args, output, random.uniform(0, 1.05 * seconds), recorder and random.random() < 0.5,
                   None if recorder else whole, stacks, result)
    print(f"# {name}: {moments} moments in {seconds:.2f} s, program begun {result.begun}, output whole {result.whole}, "
          f"spools {result.spools}, wrong {len(result.reasons)}", flush=True)
    for reason in result.reasons[:5]:
        print(f"# {name}: {reason}", file=sys.stderr)
    return not result.reasons


def main():
    tool, moments, names = os.path.realpath(sys.argv[1]), int((sys.argv[2:] or ["200"])[0]), sys.argv[3:]
    seed = int(os.environ.get("KILLTEST_SEED", time.time()))
    random.seed(seed)
    print(f"# seed {seed}")
    good = True
    number = 0
    for name in names or [*RECORDERS, *WRITERS]:
        number += 1
        is_good = test(tool, name, moments)
        good &= is_good
        print(f"{'ok' if is_good else 'not ok'} {number} - {name}", flush=True)
    print(f"1..{number}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
