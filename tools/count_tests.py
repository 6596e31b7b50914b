#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""count_tests.py [--totals|--failed|--failed-live] BUILD/meson-logs/X.json...

--totals prints "PASSED FAILED SKIPPED": TAP cases where a test has them, else test programs. A
program that fails in none of its cases (a crash, a timeout, a wrong plan) is one more failure.
--failed prints a line for each test that failed, --failed-live the names of those of suite live.
Of a test that ran twice in one build the later run counts."""
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


def read(paths):
    """(build, name) -> its last run."""
    runs = {}
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                run = json.loads(line)
                runs[path.split("/meson-logs/")[0], run["name"]] = run
    return runs


def failed_cases(run):
    cases = [line for line in run.get("stdout", "").splitlines() if line.startswith("not ok")]
    return ", ".join(case for case in cases if not DIRECTIVE.search(case)) or run["result"]


def main():
    arguments = sys.argv[1:]
    what = arguments.pop(0) if arguments and arguments[0].startswith("--") else "--totals"
    runs = read(arguments)
    counts = {key: count_test(run) for key, run in runs.items()}
    failed = [key for key, (_, failures, _) in counts.items() if failures]
    if what == "--totals":
        print(*(sum(column) for column in zip((0, 0, 0), *counts.values())))
    elif what == "--failed":
        for build, name in failed:
            print(f"{build}: {name}: {failed_cases(runs[build, name])}")
    elif what == "--failed-live":
        for key in failed:
            if "live" in key[1].split(" / ")[0].split(":")[-1].split("+"):
                print(key[1].split(" / ")[-1])


main()
