# SPDX-License-Identifier: MIT
"""TAP cases as functions: a case fails by an exception, and is skipped by Skip."""

import sys
import traceback


class Skip(Exception):
    """Why the case cannot run here."""


def run(*cases):
    """Runs them in order, prints TAP, and ends the program."""
    failed = 0
    for number, case in enumerate(cases, 1):
        words = f"ok {number} - {case.__name__}"
        try:
            case()
        except Skip as reason:
            words += f" # SKIP {reason}"
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
            words = "not " + words
            failed += 1
        print(words, flush=True)
    print(f"1..{len(cases)}")
    sys.exit(1 if failed else 0)


def equal(got, want, words=""):
    if got != want:
        raise AssertionError(f"{words}: got {got!r}, want {want!r}")


def near(got, want, error, words=""):
    if abs(got - want) > error:
        raise AssertionError(f"{words}: got {got!r}, want {want!r} +- {error!r}")
