#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""count_tests.py [--totals|--failed|--failed-live|--flaky] BUILD/meson-logs/X.json...

--totals prints "PASSED FAILED SKIPPED": TAP cases where a test has them, else test programs. A
program that fails in none of its cases (a crash, a timeout, a wrong plan) is one more failure.
--failed prints each test that failed and what it said last, --failed-live the names of those that look at the
machine (see LIVE). Of a test that ran twice in one build the later run counts. A
test is flaky when only the earlier one failed: --flaky prints what that said, and at the end "N
flaky: NAME, ..."."""
import json
import re
import sys

CASE = re.compile(r"(not )?ok\b(.*)")
DIRECTIVE = re.compile(r"#\s*(skip|todo)", re.IGNORECASE)
LIVE = {"live", "control", "slurm", "browser", "peers", "docs"}  # suites
WORDS = 40  # lines of a failed run that are printed


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


def is_failed(run):
    return count_test(run)[1] > 0


def read(paths):
    """(build, name) -> its runs, in the order of the logs."""
    runs = {}
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                run = json.loads(line)
                runs.setdefault((path.split("/meson-logs/")[0], run["name"]), []).append(run)
    return runs


def failed_cases(run):
    cases = [line for line in run.get("stdout", "").splitlines() if line.startswith("not ok")]
    return ", ".join(case for case in cases if not DIRECTIVE.search(case)) or run["result"]


def short(name):
    return name.split(" / ")[-1]


def is_live(name):
    return not LIVE.isdisjoint(name.split(" / ")[0].split(":")[-1].split("+"))


def print_run(title, run):
    print(f"{title}: {failed_cases(run)}")
    for line in run.get("stderr", "").splitlines()[-WORDS:]:
        print(f"    {line}")


def print_flaky(runs):
    flaky = {key: several[0] for key, several in runs.items()
             if is_failed(several[0]) and not is_failed(several[-1])}
    for (build, name), run in flaky.items():
        print_run(f"flaky: {build}: {name}", run)
    if flaky:
        names = ", ".join(f"{short(name)} ({build})" for build, name in flaky)
        print(f"{len(flaky)} flaky: {names}")


def main():
    arguments = sys.argv[1:]
    what = arguments.pop(0) if arguments and arguments[0].startswith("--") else "--totals"
    runs = read(arguments)
    last = {key: several[-1] for key, several in runs.items()}
    failed = [key for key, run in last.items() if is_failed(run)]
    if what == "--totals":
        print(*(sum(column) for column in zip((0, 0, 0), *map(count_test, last.values()))))
    elif what == "--failed":
        for build, name in failed:
            print_run(f"{build}: {name}", last[build, name])
    elif what == "--failed-live":
        print(*(short(name) for _, name in failed if is_live(name)), sep="\n", end="\n" if failed else "")
    elif what == "--flaky":
        print_flaky(runs)


main()
