#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""annotate and top on the bundled example, whose hot line is known. usage: annotate_truth.py AUGER MATRICES"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

auger, matrices = sys.argv[1:]
cases = 0


def check(good, what, detail=""):
    global cases
    cases += 1
    print(f"{'ok' if good else 'not ok'} {cases} - {what}", flush=True)
    if not good:
        print(detail, file=sys.stderr)


def cpu_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(*command):
    return subprocess.run([auger, *command], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as folder:
    profile = os.path.join(folder, "m.pb.gz")
    made = run("record", "-o", profile, "--", matrices)
    if made.returncode:
        print(f"1..0 # SKIP auger record: {made.stderr.strip()}")
        sys.exit(0)
    shown = run("annotate", "fill", profile, "-f", "json", "--all")
    rows = json.loads(shown.stdout)["rows"] if shown.stdout else []
    lines = [r for r in rows if r["address"] is None]
    insns = [r for r in rows if r["address"] is not None]
    functions = json.loads(run("report", profile, "-f", "json").stdout)["rows"]
    fill = next(r for r in functions if r["function"] == "fill")
    check(sum(r["self"] for r in lines) == fill["self"], "the lines add up to the function", shown.stdout)
    if "no instructions" in shown.stderr:
        check(True, f"instructions # SKIP {shown.stderr.strip()}")
    else:
        check(sum(r["self"] for r in insns) == fill["self"], "the instructions add up to the function", shown.stdout)
    hottest = max(lines, key=lambda r: r["total"])
    hot = sorted(lines, key=lambda r: r["total"])[-2:]
    check(any("matrices[m][i] = value" in r["text"] for r in hot), "the store of the inner loop is hot: it, or the loop's line", hot)
    whole = sum(r["self"] for r in lines)
    hot = {r["line"] for r in lines if r["line"] and r["total"] > 0.01 * whole}
    beside = {line + k for line in hot for k in range(-3, 4)} & {r["line"] for r in lines}
    table, all_rows = run("annotate", "fill", profile).stdout, run("annotate", "fill", profile, "--all").stdout
    told = {int(n) for n in re.findall(r"% +(\d+)  -  ", table)}
    check(beside <= told <= {r["line"] for r in lines if r["line"]}, "a table has the hot lines, and three beside", table)
    left_out = re.search(r"^# lines left out: (\d+), instructions: (\d+); --all shows them$", table, re.M)
    check(left_out and len(all_rows.splitlines()) - len(table.splitlines()) ==
          int(left_out.group(1)) + int(left_out.group(2)) - 1 > 0, "the others are counted", table)
    by_file = run("annotate", f"matrices.c:{hottest['line']}", profile, "-f", "json")
    check(any(r["line"] == hottest["line"] for r in json.loads(by_file.stdout or '{"rows": []}')["rows"]),
          "FILE:LINE shows the line", by_file.stderr)
    none = run("annotate", "no_such_function", profile)
    check(none.returncode == 1 and none.stderr.count("\n") == 1, "a function that was not sampled is told in a line",
          none.stderr)
    looks = run("top", "--batch", "--interval", "0.3", "-n", "5", "--", matrices, "3")
    check(looks.returncode == 0 and " initprm " in looks.stdout, "top shows the hot function", looks.stdout + looks.stderr)
    many = os.path.join(folder, "many.folded")
    with open(many, "w", encoding="ascii") as file:
        file.writelines(f"main;f_{i} {i % 100 + 1}\n" for i in range(80000))
    told, chosen = cpu_seconds("report", many), cpu_seconds("annotate", "f_", many)
    check(chosen < 10 * told + 1, "the costliest of many functions is found in linear time", (told, chosen))
print(f"1..{cases}")
