#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""json_stacks.py speedscope|firefox FILE TYPE: checks the file against the format's published types
and prints the stacks of a sample type as folded lines, sorted. Threads with a name are its first
frame, as in auger's folded stacks."""
import json
import sys

WEIGHTS = {"samples": 1, "tracing-ms": 1000000, "bytes": 1}


def check(condition, text):
    if not condition:
        sys.exit("%s: %s" % (sys.argv[2], text))


def is_index(value, length):
    return isinstance(value, int) and 0 <= value < length


def speedscope(doc, wanted):
    check(doc["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema")
    check(set(doc) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"},
          "members")
    check(is_index(doc["activeProfileIndex"], len(doc["profiles"])), "active profile")
    frames = doc["shared"]["frames"]
    for frame in frames:
        check(set(frame) <= {"name", "file", "line", "col"} and isinstance(frame["name"], str), "frame")
    for profile in doc["profiles"]:
        check(set(profile) == {"type", "name", "unit", "samples", "weights", "startValue", "endValue"},
              "profile")
        check(profile["type"] == "sampled", "type")
        check(profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds",
                                  "bytes"), "unit")
        check(len(profile["samples"]) == len(profile["weights"]), "as many weights as samples")
        is_line = " (pid " in profile["name"]  # in order of time, with gaps
        check(profile["endValue"] <= sum(profile["weights"]), "end")
        check(profile["endValue"] == sum(profile["weights"]) or profile["unit"] == "nanoseconds", "end")
        for stack, weight in zip(profile["samples"], profile["weights"]):
            check(weight > 0 and (stack or is_line) and all(is_index(i, len(frames)) for i in stack),
                  "sample")
            if profile["name"] == wanted:
                yield [frames[i]["name"] for i in stack], weight


def check_table(table, columns):
    check(set(table) == set(columns) | {"length"}, "columns of a table")
    for key in columns:
        check(len(table[key]) == table["length"], "length of column %s" % key)


def check_thread(doc, thread):
    strings = thread["stringArray"]
    stacks, frames, funcs = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    resources = thread["resourceTable"]
    check(isinstance(thread["pid"], str) and isinstance(thread["isMainThread"], bool), "thread")
    check_table(stacks, ["prefix", "frame"])
    check_table(frames, ["address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                         "innerWindowID", "line", "column"])
    check_table(funcs, ["name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber",
                        "columnNumber"])
    check_table(resources, ["lib", "name", "host", "type"])
    check_table(thread["nativeSymbols"], ["address", "functionSize", "libIndex", "name"])
    check_table(thread["markers"], ["category", "data", "endTime", "name", "phase", "startTime"])
    for i, (prefix, frame) in enumerate(zip(stacks["prefix"], stacks["frame"])):
        check(prefix is None or is_index(prefix, i), "a stack comes behind its prefix")
        check(is_index(frame, frames["length"]), "frame of a stack")
    for i in range(frames["length"]):
        check(is_index(frames["func"][i], funcs["length"]), "function of a frame")
        check(is_index(frames["category"][i], len(doc["meta"]["categories"])), "category")
    for i in range(funcs["length"]):
        check(is_index(funcs["name"][i], len(strings)), "name of a function")
        check(funcs["resource"][i] == -1 or is_index(funcs["resource"][i], resources["length"]),
              "resource of a function")
        check(funcs["fileName"][i] is None or is_index(funcs["fileName"][i], len(strings)), "file")
    for i in range(resources["length"]):
        check(is_index(resources["lib"][i], len(doc["libs"])), "library of a resource")
        check(is_index(resources["name"][i], len(strings)), "name of a resource")


def firefox(doc, _):
    check(doc["meta"]["preprocessedProfileVersion"] == 55, "version")
    check(doc["meta"]["categories"][0]["color"] == "grey", "default category")
    for lib in doc["libs"]:
        check(len(lib["breakpadId"]) == 33, "breakpad id")
    for thread in doc["threads"]:
        check_thread(doc, thread)
        samples = thread["samples"]
        check_table({k: v for k, v in samples.items() if k != "weightType"},
                    ["stack", "timeDeltas", "weight"])
        check(all(delta >= 0 for delta in samples["timeDeltas"]), "order of time")
        check(sum(samples["timeDeltas"]) < doc["meta"].get("profilingEndTime", 1), "range")
        stacks, funcs = thread["stackTable"], thread["funcTable"]
        for stack, weight in zip(samples["stack"], samples["weight"]):
            check(is_index(stack, stacks["length"]) and weight > 0, "sample")
            names = []
            while stack is not None:
                func = thread["frameTable"]["func"][stacks["frame"][stack]]
                names.append(thread["stringArray"][funcs["name"][func]])
                stack = stacks["prefix"][stack]
            if thread["name"]:
                names.append(thread["name"].replace(" ", "_"))
            yield names[::-1], round(weight * WEIGHTS[samples["weightType"]])


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        doc = json.load(file)
    sums = {}
    for names, weight in {"speedscope": speedscope, "firefox": firefox}[sys.argv[1]](doc, sys.argv[3]):
        line = ";".join(names)
        sums[line] = sums.get(line, 0) + weight
    for line, value in sorted(sums.items(), key=lambda item: item[0].encode()):
        print(line, value)


main()
