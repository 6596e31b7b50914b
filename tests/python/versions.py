# SPDX-License-Identifier: MIT
"""The same extension in every other CPython that is here: python3.9 to python3.13 of the PATH, and
those that AUGER_PYTHONS names (paths, by colons). Each runs the tests of this folder."""

import os
import shutil
import subprocess
import sys

import tap

TESTS = ("test_document.py", "test_stages.py", "test_memory.py")
QUESTION = "import sys; print(sys.version_info[:2] >= (3, 9), sys.implementation.name, sys.version)"


def answer(python):
    """What it says it is; "" for one that does not run (a launcher without its version)."""
    done = subprocess.run([python, "-c", QUESTION], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def interpreters():
    found = [path for path in os.environ.get("AUGER_PYTHONS", "").split(":") if path]
    found += [path for minor in range(9, 14) if (path := shutil.which(f"python3.{minor}"))]
    return {answer(path): path for path in found if answer(path).startswith("True cpython")}


def case(python, test):
    def run():
        path = os.path.join(os.path.dirname(__file__), test)
        done = subprocess.run([python, path], capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    run.__name__ = f"{test} by {python}"
    return run


if __name__ == "__main__":
    own = answer(sys.executable)
    tap.run(*(case(python, test) for version, python in interpreters().items() if version != own
              for test in TESTS))
