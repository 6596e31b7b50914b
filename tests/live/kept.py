#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""kept.py TOOL WORKLOADS [CASE...]: what was sampled is kept, whatever ends auger record or its output."""

import os
import re
import resource
import shutil
import signal
import subprocess
import time

import live
from live import Skip, totals

# Takes that much CPU time: on a machine with much else to do a recording is longer, not smaller.
SPIN = ("import time\ndef inner():\n for i in range(20000): pass\n"
        "while time.process_time() < {}: inner()\nopen('done', 'w').write('all')\n")


def begin(bench, *args, seconds=2, output="p.pb.gz", prefix=(), env=None):
    """A recording that has begun, of a program that says when it is done."""
    return bench.start(*prefix, bench.tool, "record", "-o", output, *args, "--", "/usr/bin/python3", "-c",
                       SPIN.format(seconds), stderr=subprocess.PIPE, env=env)


def wait_for(condition, seconds=100, pause=0.02):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(pause)
    return condition()


def samples_in(bench, path):
    return bench.report(output=path).get("samples", 0)


def wait_for_samples(bench, path, count):
    return wait_for(lambda: os.path.exists(bench.path(path)) and samples_in(bench, path) >= count,
                    pause=0.3)


def killed(bench):
    """SIGKILL: the program lives on, and the spool has all but the last second."""
    auger = begin(bench)
    bench.check(wait_for_samples(bench, "p.pb.gz.spool", 300), "the spool grows")
    bench.equal(os.stat(bench.path("p.pb.gz.spool")).st_mode & 0o777, 0o600, "mode")
    done = bench.run(bench.tool, "report", "p.pb.gz", status=1)
    bench.check("its recording goes on: 'auger report p.pb.gz.spool' shows it" in done.stderr, done.stderr)
    auger.kill()
    auger.communicate()
    done = bench.run(bench.tool, "report", "p.pb.gz", status=1)
    bench.check("its recording was interrupted" in done.stderr, done.stderr)
    before = samples_in(bench, "p.pb.gz.spool")
    bench.check(wait_for(lambda: os.path.exists(bench.path("done"))), "the program ended with auger")
    done = bench.run(bench.tool, "record", "--recover", "p.pb.gz.spool")
    bench.check("are recovered" in done.stderr, done.stderr)
    report = bench.report("--by", "comm")
    bench.equal(report["samples"], before, "samples")
    comments = " ".join(report["comment"])
    bench.check("command: /usr/bin/python3" in comments and "recovered from p.pb.gz.spool" in comments, comments)
    bench.equal(sorted(os.listdir(bench.folder)), ["done", "p.pb.gz", "p.pb.gz.spool"], "files")
    done = bench.run(bench.tool, "record", "--recover", "p.pb.gz.spool", status=1)
    bench.check("File exists" in done.stderr, done.stderr)
    bench.run(bench.tool, "record", "--recover", "p.pb.gz.spool", "-o", "p.pb.gz")
    bench.run(bench.tool, "record", "--recover", "p.pb.gz", status=2)
    bench.run(bench.tool, "record", "--recover", "p.pb.gz.spool", "--", "true", status=2)


def removed(bench):
    """A profile that is written leaves no spool; nor does a command that cannot be executed."""
    bench.record("true")
    bench.record("./no-such-program", status=127)
    bench.equal(os.listdir(bench.folder), ["p.pb.gz"], "files")


def same(bench):
    """The profile of a recording is what its spool gives."""
    auger = begin(bench)
    bench.check(wait_for_samples(bench, "p.pb.gz.spool", 300), "the spool grows")
    shutil.copy(bench.path("p.pb.gz.spool"), bench.path("early"))
    auger.communicate()
    early, late = bench.report(output="early"), bench.report()
    bench.check(300 <= early["samples"] <= late["samples"], f"{early['samples']} of {late['samples']}")
    names = [name for name, share in totals(early).items() if share > 0.05]
    bench.check(names and set(names) <= set(totals(late)), names)


def older(bench):
    """A spool that a killed recording left is mentioned, and is not overwritten."""
    with open(bench.path("p.pb.gz.spool"), "wb") as file:
        file.write(b"old")
    done = bench.record("true")
    bench.check("p.pb.gz.spool is left of a recording that was interrupted" in done.stderr, done.stderr)
    with open(bench.path("p.pb.gz.spool"), "rb") as file:
        bench.equal(file.read(), b"old", "the older spool")
    bench.equal(sorted(os.listdir(bench.folder)), ["p.pb.gz", "p.pb.gz.spool"], "files")
    auger = begin(bench, output="q.pb.gz")
    bench.check(wait_for(lambda: os.path.exists(bench.path("q.pb.gz.spool"))), "a spool")
    done = bench.record("true", output="q.pb.gz")
    bench.check("interrupted" not in done.stderr, done.stderr)
    auger.communicate()
    bench.equal(sorted(os.listdir(bench.folder)), ["done", "p.pb.gz", "p.pb.gz.spool", "q.pb.gz"], "files")


def torn(bench):
    """A spool that is cut or damaged is what it was before; never something else."""
    auger = begin(bench)
    bench.check(wait_for_samples(bench, "p.pb.gz.spool", 600), "the spool grows")
    auger.kill()
    auger.communicate()
    with open(bench.path("p.pb.gz.spool"), "rb") as file:
        whole = file.read()
    most = samples_in(bench, "p.pb.gz.spool")
    counts = []
    for part in range(1, 9):
        with open(bench.path("cut"), "wb") as file:
            file.write(whole[:len(whole) * part // 8])
        done = bench.run(bench.tool, "report", "cut", status=None)  # its first record may be torn
        is_none = done.returncode == 1 and done.stderr.endswith("profile is cut off\n")
        counts.append(0 if is_none else samples_in(bench, "cut"))
    bench.check(counts == sorted(counts) and counts[-1] == most, counts)
    with open(bench.path("cut"), "wb") as file:
        file.write(whole[:-20] + b"12345" + whole[-15:])
    done = bench.run(bench.tool, "report", "cut")
    bench.check("the journal is damaged at byte" in done.stderr, done.stderr)


def empty(bench):
    """A spool without samples is a profile without samples, and one without a byte is told: one clear line each."""
    bench.record("--", "sh", "-c", "kill -9 $PPID", status=-9)
    bench.equal(os.listdir(bench.folder), ["p.pb.gz.spool"], "files")
    done = bench.run(bench.tool, "report", "p.pb.gz.spool")
    line = "p.pb.gz.spool has no samples: its recording was interrupted before the first\n"
    bench.check(done.stderr.endswith(line) and "command: sh -c 'kill" in done.stdout, done.stderr)
    bench.run(bench.tool, "record", "--recover", "p.pb.gz.spool")
    bench.equal(bench.report()["samples"], 0, "samples")
    with open(bench.path("p.pb.gz.spool"), "wb"):
        pass
    for words in (("report", "p.pb.gz.spool"), ("record", "-o", "q.pb.gz", "--recover", "p.pb.gz.spool")):
        done = bench.run(bench.tool, *words, status=1)
        bench.equal(done.stderr, f"auger {words[0]}: p.pb.gz.spool: is empty: its recording was interrupted before it "
                    "sampled\n", "line")


def unknown_file(bench):
    """The spool cannot be looked at when it is to be removed: it is left, and a line says so."""
    if not shutil.which("strace"):
        raise Skip("no strace")
    done = bench.run("strace", "-o", "/dev/null", "-P", "p.pb.gz.spool", "-e", "inject=newfstatat,fstatat64:error=EIO:when=2+",
                     bench.tool, "record", "-o", "p.pb.gz", "--", "true")
    bench.check("p.pb.gz.spool: a spool is left behind: Input/output error" in done.stderr, done.stderr)
    bench.equal(sorted(os.listdir(bench.folder)), ["p.pb.gz", "p.pb.gz.spool"], "files")


def full(bench, size="200k"):
    """A full disk: the spool goes on elsewhere, one line says so, and the program is unharmed."""
    if os.geteuid() != 0:
        raise Skip("only root mounts a file system")
    os.mkdir(bench.path("small"))
    os.mkdir(bench.path("tmp"))
    if bench.run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", "small", status=None).returncode != 0:
        raise Skip("no tmpfs can be mounted")
    try:
        auger = begin(bench, output="small/p.pb.gz", env={**os.environ, "TMPDIR": bench.path("tmp")})
        bench.check(wait_for(lambda: os.path.exists(bench.path("small/p.pb.gz.spool"))), "a spool")
        bench.run("dd", "if=/dev/zero", "of=small/fill", "bs=1k", status=1)
        _, said = auger.communicate()
        bench.equal(auger.returncode, 1, said)
        bench.check(os.path.exists(bench.path("done")), "the program")
        bench.equal(len(re.findall("the spool goes on as .*/tmp/p.pb.gz.spool: .*No space", said)), 1, said)
        bench.equal(len(re.findall("small/p.pb.gz: No space left on device", said)), 1, said)
        bench.check("keeps what was sampled" in said, said)
        bench.equal(os.listdir(bench.path("small")), ["fill"], "files")
        bench.run(bench.tool, "record", "--recover", "tmp/p.pb.gz.spool", "-o", "p.pb.gz")
        bench.check(samples_in(bench, "p.pb.gz") > 300, "samples")
    finally:
        bench.run("umount", "-l", "small")


def folder_removed(bench):
    """The output's directory is removed while auger records."""
    os.mkdir(bench.path("out"))
    os.mkdir(bench.path("tmp"))
    auger = begin(bench, output="out/p.pb.gz", env={**os.environ, "TMPDIR": bench.path("tmp")})
    bench.check(wait_for_samples(bench, "out/p.pb.gz.spool", 100), "the spool grows")
    shutil.rmtree(bench.path("out"))
    _, said = auger.communicate()
    bench.equal(auger.returncode, 1, said)
    bench.check("the spool goes on as" in said and "was removed" in said, said)
    bench.check(os.path.exists(bench.path("done")), "the program")
    bench.check(samples_in(bench, "tmp/p.pb.gz.spool") > 300, "samples")


def limited(bench):
    """A file beyond ulimit -f is an error line; the spool is kept as far as it may grow."""
    os.mkdir(bench.path("tmp"))
    words = ("def f{0}(n):\n for i in range(20000): pass\n if n: f{1}(n - 1)\n")
    code = "".join(words.format(i, (i * 7 + 1) % 40) for i in range(40))
    code += "import time\nwhile time.process_time() < 1:\n for i in range(40): globals()[f'f{i}'](i)\n"
    with open(bench.path("code.py"), "w", encoding="utf-8") as file:
        file.write(code)
    auger = bench.start(bench.tool, "record", "-o", "p.pb.gz", "--", "/usr/bin/python3", "code.py",
                        stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": bench.path("tmp")},
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)))
    _, said = auger.communicate()
    bench.equal(auger.returncode, 1, said)
    bench.check("File too large" in said, said)
    bench.equal(sorted(os.listdir(bench.folder)), ["code.py", "p.pb.gz.spool", "tmp"], "files")
    bench.check("keeps what was sampled" in said, said)
    bench.run(bench.tool, "report", "p.pb.gz.spool")


def failing_disk(bench):
    """EIO of each write: lines, exit status 1, and the program runs to its end."""
    if not shutil.which("strace"):
        raise Skip("no strace")
    os.mkdir(bench.path("tmp"))
    auger = begin(bench, prefix=("strace", "-o", "/dev/null", "-e", "inject=write:error=EIO:when=40+",
                                            "-e", "trace=write"),
                  env={**os.environ, "TMPDIR": bench.path("tmp")})
    _, said = auger.communicate()
    bench.check(os.path.exists(bench.path("done")), "the program")
    bench.check(auger.returncode in (0, 1), f"{auger.returncode}: {said}")


def remote(bench):
    """Of an output on FUSE or a network file system the spool is on a local one; at the end it is beside the output."""
    for name in ("source", "mount", "tmp"):
        os.mkdir(bench.path(name))
    if not os.path.exists(bench.workload("loopback")):
        raise Skip("built without FUSE")
    if bench.run(bench.workload("loopback"), "source", "mount", status=None).returncode != 0:
        raise Skip("FUSE cannot be mounted")
    try:
        auger = begin(bench, output="mount/p.pb.gz", env={**os.environ, "TMPDIR": bench.path("tmp")})
        bench.check(wait_for_samples(bench, "tmp/p.pb.gz.spool", 100), "the spool grows")
        bench.equal(os.listdir(bench.path("source")), [], "files beside the output")
        os.mkdir(bench.path("source/p.pb.gz"))  # where the profile cannot be put
        _, said = auger.communicate()
        bench.equal(auger.returncode, 1, said)
        bench.equal((os.listdir(bench.path("tmp")), sorted(os.listdir(bench.path("source")))),
                    ([], ["p.pb.gz", "p.pb.gz.spool"]), "files at the end")
        bench.check(samples_in(bench, "source/p.pb.gz.spool") > 300, "samples")
        bench.record("true", output="mount/q.pb.gz")
        bench.equal((os.listdir(bench.path("tmp")), sorted(os.listdir(bench.path("source")))),
                    ([], ["p.pb.gz", "p.pb.gz.spool", "q.pb.gz"]), "files of another")
    finally:
        bench.run("umount", "-l", "mount")


def standard_output(bench):
    """A profile for standard output has its spool in $TMPDIR."""
    os.mkdir(bench.path("tmp"))
    with open(bench.path("out"), "wb") as out:
        auger = bench.start(bench.tool, "record", "-o", "-", "--", "/usr/bin/python3", "-c", SPIN.format(2), stdout=out,
                            stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": bench.path("tmp")})
        bench.check(wait_for_samples(bench, "tmp/auger.pb.gz.spool", 100), "the spool grows")
        auger.communicate()
    bench.equal(os.listdir(bench.path("tmp")), [], "files")
    bench.check(samples_in(bench, "out") > 300, "samples")


def while_naming(bench):
    """SIGKILL after the last sample: the spool has all of them."""
    auger = begin(bench, seconds=1)
    wait_for(lambda: os.path.exists(bench.path("done")))
    while auger.poll() is None and not os.path.exists(bench.path("p.pb.gz")):
        try:
            with open(bench.path("p.pb.gz.spool"), "rb") as file:
                if b"samples: " in file.read():
                    auger.send_signal(signal.SIGKILL)
                    break
        except FileNotFoundError:
            break
    auger.communicate()
    path = "p.pb.gz" if os.path.exists(bench.path("p.pb.gz")) else "p.pb.gz.spool"
    report = bench.report(output=path)
    comments = " ".join(report["comment"])
    bench.check(report["samples"] > 100 and f"samples: {report['samples']}, lost: " in comments, comments)


if __name__ == "__main__":
    live.main([killed, removed, same, older, torn, empty, unknown_file, full, folder_removed, limited, failing_disk, remote, standard_output,
               while_naming])
