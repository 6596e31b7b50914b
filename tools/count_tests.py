#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints "PASSED FAILED SKIPPED" over Meson's testlog.json files: TAP cases where a test has
them, else test programs. A program that fails in none of its cases (a crash, a timeout, a
wrong plan) is one more failure."""
import json
import re
import sys

CASE = re.compile(r"(not )?ok\b(.*)")
DIRECTIVE = re.compile(r"#\s*(skip|todo)", re.IGNORECASE)


def count_cases(text):
    passed = failed = skipped = 0
    for line in text.splitlines():
        case = CASE.match(line)
        if not case:
            continue
        if DIRECTIVE.search(case[2]):
            skipped += 1
        elif case[1]:
            failed += 1
        else:
            passed += 1
    return passed, failed, skipped


def count_test(test):
    result = test["result"]
    if result == "SKIP":
        return 0, 0, 1
    passed, failed, skipped = count_cases(test.get("stdout", ""))
    is_good = result in ("OK", "EXPECTEDFAIL")
    if not is_good and not failed:
        failed = 1
    elif is_good and not passed + skipped:
        passed = 1
    return passed, failed, skipped


def main():
    totals = [0, 0, 0]
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                for i, n in enumerate(count_test(json.loads(line))):
                    totals[i] += n
    print(*totals)


main()
