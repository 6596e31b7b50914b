#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""model.py AUGER [COUNT [SEED]]: random command lines, against a model of what they do.

The model knows the grammar in its own way; after each write the state that status tells must
be the model's, and the errno the one it foretold.
"""

import errno
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mount import Mount  # noqa: E402

LIMITS = {"depth": (1, 255), "qlimit": (64, 16 << 20), "autostop": (0, 86400)}
WORDS = ["start", "stop", "startclr", "clear", "opstart", "opstop", "optimer", "opclear", "flush",
         "qlimit", "depth", "user", "autostop", "period", "on", "off", "all", "0", "1", "0-1",
         "0,1", "1-0", "7", "99", "-1", "100", "99999", "1000000", "18446744073709551616", "",
         "Start", "opstart\t", "0x10", "1.5", "é", "\x01", "start;stop"]


class Refused(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Model:
    """The state, and what a line of commands makes of it."""

    def __init__(self, cores):
        self.cores = cores
        self.values = {"depth": 127, "qlimit": 65536, "autostop": 0, "period": 1000}
        self.user = True
        self.counting = False
        self.timers = set()
        self.tracing = set()

    def number(self, word, low, high):
        if not word.isascii() or not word.isdigit() or int(word) >= 2**64:
            raise Refused(errno.EINVAL)
        if not low <= int(word) <= high:
            raise Refused(errno.ERANGE)
        return int(word)

    def some_cores(self, word):
        if word == "all":
            return set(self.cores)
        if word.isascii() and word.isdigit() and 65536 <= int(word) < 2**64:
            raise Refused(errno.ENXIO)
        chosen = set()
        for part in word.split(","):
            ends = part.split("-")
            if len(ends) > 2 or not all(e.isascii() and e.isdigit() for e in ends):
                raise Refused(errno.EINVAL)
            first, last = int(ends[0]), int(ends[-1])
            if first > last or last >= 65536:
                raise Refused(errno.EINVAL)
            chosen |= set(range(first, last + 1))
        if not chosen <= set(self.cores):
            raise Refused(errno.ENXIO)
        return chosen

    def switch(self, words):
        if len(words) != 1 or words[0] not in ("on", "off"):
            raise Refused(errno.EINVAL)
        return words[0] == "on"

    def parse_optimer(self, words):
        if len(words) < 2:
            raise Refused(errno.EINVAL)
        if words[0] == "period":
            if len(words) != 2:
                raise Refused(errno.EINVAL)
            value = self.number(words[1], 100, 1000000)
            return lambda: self.values.update(period=value)
        chosen = self.some_cores(words[0])
        if self.switch(words[1:]):
            return lambda: self.timers.update(chosen)
        return lambda: self.timers.difference_update(chosen)

    def parse(self, line):
        """What the line does, to be called if all lines of the write are good."""
        words = line.split()
        if not words:
            raise Refused(errno.EINVAL)
        verb, words = words[0], words[1:]
        if verb == "optimer":
            return self.parse_optimer(words)
        if verb == "user":
            is_on = self.switch(words)
            return lambda: setattr(self, "user", is_on)
        if verb in LIMITS:
            if len(words) != 1:
                raise Refused(errno.EINVAL)
            value = self.number(words[0], *LIMITS[verb])
            return lambda: self.values.update({verb: value})
        simple = {
            "start": lambda: setattr(self, "counting", True),
            "startclr": lambda: setattr(self, "counting", True),
            "stop": lambda: setattr(self, "counting", False),
            "opstart": lambda: self.tracing.update(self.cores),
            "opstop": self.tracing.clear,
            "clear": lambda: None, "opclear": lambda: None, "flush": lambda: None,
        }
        if verb not in simple or words:
            raise Refused(errno.EINVAL)
        return simple[verb]

    def write(self, text):
        """The errno."""
        lines = text[:-1].split("\n") if text.endswith("\n") else text.split("\n")
        try:
            for act in [self.parse(line) for line in lines]:
                act()
        except Refused as reason:
            return reason.code
        return 0

    def status(self):
        state = {"depth": str(self.values["depth"]), "qlimit_kb": str(self.values["qlimit"]),
                 "autostop_s": str(self.values["autostop"]),
                 "period_us": str(self.values["period"]), "user": "on" if self.user else "off",
                 "histogram": "on" if self.counting else "off",
                 "tracing": "on" if self.tracing else "off"}
        for core in self.cores:
            state[f"cpu{core}"] = ("on" if core in self.timers or self.counting else "off",
                                   "on" if core in self.tracing else "off")
        return state


def random_line(chance):
    if chance.random() < 0.5:
        return chance.choice([
            "start", "stop", "startclr", "opstart", "opstop", "opclear",
            f"optimer {chance.choice(['0', '1', 'all', '0-1', '5'])} {chance.choice(['on', 'off'])}",
            f"optimer period {chance.choice([99, 100, 1000, 5000, 1000000, 1000001])}",
            f"depth {chance.randrange(0, 300)}", f"qlimit {chance.randrange(0, 100000)}",
            f"user {chance.choice(['on', 'off', 'maybe'])}", f"autostop {chance.choice([0, 86400])}"])
    return " ".join(chance.choice(WORDS) for _ in range(chance.randrange(1, 5)))


def told(status, model):
    state = {key: status[key] for key in model.status() if not key.startswith("cpu")}
    for core in model.cores:
        state[f"cpu{core}"] = (status[f"cpu{core}"]["timer"], status[f"cpu{core}"]["tracing"])
    return state


def run(auger, count, seed):
    chance = random.Random(seed)
    with Mount(auger) as m:
        model = Model([int(name) for name in os.listdir(m.file("cpu"))])
        for i in range(count):
            text = "\n".join(random_line(chance) for _ in range(chance.choice([1, 1, 1, 2, 3])))
            text += chance.choice(["", "\n"])
            if not text:
                continue
            want = model.write(text)
            got = m.write(text)
            state, expected = told(m.status(), model), model.status()
            if got != want or state != expected:
                print(f"write {i} of seed {seed}: {text!r}: errno {got}, want {want};\n"
                      f"state {state}\nwant  {expected}", file=sys.stderr)
                return False
    return True


def main():
    auger = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    good = run(auger, count, seed)
    print("1..1")
    print(f"{'ok' if good else 'not ok'} 1 - {count} random writes")


if os.getuid() or not os.path.exists("/dev/fuse") or not shutil.which("fusermount3"):
    print("1..0 # SKIP needs root and FUSE")
else:
    main()
