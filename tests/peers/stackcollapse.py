#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stackcollapse.py AUGER TESTS: `convert --stackcollapse` prints what FlameGraph's stackcollapse-perf.pl
prints, byte for byte: for FlameGraph's own inputs with each option of its test.sh, for the inputs of this
repository, and for text made at random from what both must tell apart. $FLAMEGRAPH is a checkout of
FlameGraph; else the program is searched in PATH. Without it, nothing is compared."""

import glob
import os
import random
import shutil
import subprocess
import sys

OPTIONS = ["pid", "tid", "kernel", "jit", "all", "addrs"]
SETS = [[], *([f"--{option}"] for option in OPTIONS), ["--tid", "--all", "--addrs"], ["--event-filter", "faults"],
        ["--event-filter", "cpu-clock", "--kernel"], ["--srcline"], ["--srcline", "--all"]]
RANDOM_TEXTS = 60

NAMES = ["main", "foo::bar", "std::function<void (int)>::operator()(int) const", "(anonymous namespace)::f(int, char)",
         "a::(anonymous namespace)::g::h(x)", "net/http.(*Client).Do", "runtime.(*m).x(y).z", "Ljava/lang/Foo;::bar(Ljava/x;)V",
         "Lorg/moz/Ctx;.call(L", "L", "La/b", "[unknown]", "f->g", "Interp->Lx/y;::z->k(1)", "[unknown]->b", "a->[unknown]",
         "f_[j]", "k_[i]->x_[i]", "RegExp:[&<>\"']", "it's \"q\"", "a;b;c", "with blanks", "f+0x1f", "f+0x1F", "x+0xzz", "(comm)",
         "( a", "(", "x (y) z", "->", "a->", "->a", "lambda(int)#1", "0x123", "\u00e9", "a\tb", "f (inlined)", "+0x10", "A::operator->*"]
MODULES = ["/bin/x", "[unknown]", "[kernel.kallsyms]", "[nf_conntrack]", "/lib/modules/4/build/vmlinux", "/tmp/perf-12.map",
           "/tmp/perf-12.map.x", "[vdso]", "inlined", "", "/x (deleted)", "/a b", "[kernel.kallsyms]_stext", "perf-1.map", "//anon",
           "/usr/lib/libunknown.so", "/tmp/perf-.map", "x)", "/y)z"]
COMMS = ["java", "swapper", "V8 Worker", "a", "ab", "x 1", "java 2", "kworker/0:1", ":123", "-", "\u00e9", "[x]", " lead", "a#"]
IDS = ["12", "12/13", "0", "0/0", "12/0", "1//2", "5/", "x", "12/13/14"]
EVENTS = [" [000] 12.345: cycles:", " 1.2: 10 cycles: ", " 1.2: cycles:u:", " 1.2:     100 cpu-clock: ", " cpu-clock: ",
          " 1.2: probe:malloc: (7fff)", " 1.2: sched:sched_switch: prev=a:", "\t1.2: x:\t", "", " ", " 1: faults:"]
ODD_LINES = ["# x", "junk", "  ", "x y (z"]


def random_frame():
    pick = random.choice
    name = pick(NAMES) if random.random() < .8 else "".join(pick("ab;()'\"->[]+0x_ L/.:") for _ in range(random.randint(1, 9)))
    return "".join([pick(["\t    ", "        ", "", "\t", " "]), pick(["7fff", "ffffffff8103ce3b", "0", "12ab", "zz_1", "x"]),
                    pick([" ", " ", " ", "  ", ""]), name, " (", pick(MODULES), ")", pick(["", "", "", ".init.text", " ", " (x)"])])


def random_sample():
    pick = random.choice
    lines = [pick(COMMS) + pick([" ", "  ", "\t"]) + pick(IDS) + pick(EVENTS)] if random.random() < .95 else []
    lines += [random_frame() for _ in range(random.randint(0, 5))]
    if random.random() < .05:
        lines.insert(random.randint(0, len(lines)), pick(ODD_LINES))
    return "\n".join(lines) + "\n" + ("\n" if random.random() < .9 else "")


def random_text():
    start = "java 1 1.2: cycles:\n\t1 start (x)\n\n" if random.random() < .7 else ""
    return (start + "".join(random_sample() for _ in range(random.choice([1, 3, 30, 100])))).encode()


class Peers:
    def __init__(self, tool, script):
        self.tool, self.script, self.number, self.failed = tool, script, 0, 0

    def is_same(self, text, options):
        both = [subprocess.run([*command, *options], input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               check=False).stdout
                for command in (["perl", self.script], [self.tool, "convert", "--stackcollapse", "-"])]
        return both[0] == both[1]

    def check(self, name, text, sets):
        wrong = [" ".join(options) or "no option" for options in sets if not self.is_same(text, options)]
        self.number += 1
        self.failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.number} - {name}" + (f": differs with {', '.join(wrong)}" if wrong else ""),
              flush=True)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    tool, tests = os.path.realpath(sys.argv[1]), sys.argv[2]
    checkout = os.environ.get("FLAMEGRAPH", "")
    script = os.path.join(checkout, "stackcollapse-perf.pl") if checkout else shutil.which("stackcollapse-perf.pl")
    if not script or not os.path.exists(script) or not shutil.which("perl"):
        print("1..0 # SKIP no stackcollapse-perf.pl here")
        return 0
    peers = Peers(tool, script)
    for path in sorted(glob.glob(os.path.join(checkout, "test", "*.txt")) if checkout else []):
        peers.check(os.path.basename(path), read(path), [[f"--{option}"] for option in OPTIONS])
    for path in sorted(glob.glob(os.path.join(tests, "golden", "convert", "*.script"))):
        peers.check(os.path.basename(path), read(path), SETS)
    random.seed(1)
    for number in range(RANDOM_TEXTS):
        peers.check(f"random text {number}", random_text(), [random.choice(SETS)])
    print(f"1..{peers.number}")
    return 1 if peers.failed else 0


sys.exit(main())
