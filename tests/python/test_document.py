# SPDX-License-Identifier: MIT
"""The examples of the document that the stage profiler follows, word for word but for imports."""

import contextlib
import io
import json
import os
import pathlib
import pickle
import tempfile
import types

import tap
from auger import NullProfiler, StageProfiler

KEYS = {"total_wall_s", "rss_kb_now", "python_memory_traced", "stages"}
COLUMNS = {"stage", "calls", "wall_s", "wall_max_s", "cpu_s", "py_kb_delta", "py_kb_peak_max",
           "rss_kb_delta"}

OWN_CODE = """\
prof = StageProfiler()
for name, data in files:
    with prof.stage("extract"):
        strings = extract(data)
    with prof.stage("classify"):
        result = classify(name, strings)
print(prof.report())
"""

LIBRARY = """\
prof = StageProfiler()
graph = build_flow_graph(files, permissions=perms, profiler=prof)
report = prof.report()
prof.close()
"""

WRAP = """\
classify = prof.wrap("classify", classifier.classify_so_pre)
"""

PANDAS = """\
import json, pandas as pd, pathlib
rows = [{"app": r["input"], **s}
        for p in pathlib.Path("results").glob("*.flows.jsonl")
        for r in map(json.loads, open(p))
        for s in r.get("profile", {}).get("stages", [])]
df = pd.DataFrame(rows)
print(df.groupby("stage")[["wall_s", "py_kb_peak_max"]]
        .agg({"wall_s": "sum", "py_kb_peak_max": "max"})
        .sort_values("wall_s", ascending=False))
"""

FILES = [(f"file{i}", bytes(range(256)) * 400) for i in range(30)]


def extract(data):
    return [data[i:i + 16].hex() for i in range(0, len(data), 16)]


def classify(name, strings):
    return name, sum(len(set(s)) for s in strings)


def build_flow_graph(files, permissions=(), profiler=NullProfiler()):
    """Library code with stages, as the document has it: NullProfiler by default."""
    graph = []
    for name, data in files:
        with profiler.stage("extract"):
            strings = extract(data)
        with profiler.stage("link"):
            with profiler.stage("classify"):
                kind = classify(name, strings)
            graph.append((kind, tuple(permissions)))
    return graph


def run(code, **names):
    """What the code leaves in its names, and what it printed."""
    names.update(StageProfiler=StageProfiler)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)  # pylint: disable=exec-used
    return types.SimpleNamespace(**{k: v for k, v in names.items() if k.isidentifier()}), out.getvalue()


def row_of(report, label):
    return next(row for row in report["stages"] if row["stage"] == label)


def check_shape(report):
    assert KEYS <= report.keys(), report.keys()
    assert type(report) is dict
    assert report["python_memory_traced"] is True
    assert isinstance(report["total_wall_s"], float) and report["total_wall_s"] > 0
    assert isinstance(report["rss_kb_now"], int) and report["rss_kb_now"] > 1000
    for row in report["stages"]:
        assert COLUMNS <= row.keys(), row.keys()
        for key, value in row.items():
            assert not isinstance(value, (dict, list)), f"{key} is not flat"
        for key in ("calls", "py_kb_delta", "py_kb_peak_max", "rss_kb_delta"):
            assert isinstance(row[key], int), (key, row[key])
        for key in ("wall_s", "wall_max_s", "cpu_s"):
            assert isinstance(row[key], (int, float)), (key, row[key])
        assert 0 < row["wall_max_s"] <= row["wall_s"] <= report["total_wall_s"]


def own_code():
    names, printed = run(OWN_CODE, files=FILES, extract=extract, classify=classify)
    report = names.prof.report()
    check_shape(report)
    tap.equal([row["stage"] for row in report["stages"]], ["extract", "classify"])
    tap.equal([row["calls"] for row in report["stages"]], [30, 30])
    assert printed.startswith("{'") and "'stage': 'classify'" in printed
    names.prof.close()


def library():
    names, _ = run(LIBRARY, files=FILES, perms=["net"], build_flow_graph=build_flow_graph)
    check_shape(names.report)
    tap.equal([row["stage"] for row in names.report["stages"]], ["extract", "link", "link.classify"])
    for row, then in zip(names.prof.report()["stages"], names.report["stages"]):
        tap.equal((row["stage"], row["calls"]), (then["stage"], then["calls"]), "after close")
        tap.near(row["wall_s"], then["wall_s"], then["wall_s"] / 100, "after close")


def same_results():
    prof = StageProfiler()
    with_stages = build_flow_graph(FILES, ["net"], prof)
    prof.close()
    tap.equal(build_flow_graph(FILES, ["net"]), with_stages)
    tap.equal(build_flow_graph(FILES, ["net"], NullProfiler("anything", at="all")), with_stages)
    with StageProfiler(level="off") as off:
        tap.equal(build_flow_graph(FILES, ["net"], off), with_stages)
        tap.equal(off.report(), {})


def wrap():
    classifier = types.SimpleNamespace(classify_so_pre=lambda text: text.upper())
    prof = StageProfiler()
    names, _ = run(WRAP, prof=prof, classifier=classifier)
    tap.equal([names.classify(text) for text in ("a", "b", "c")], ["A", "B", "C"])
    tap.equal(row_of(prof.report(), "classify")["calls"], 3)
    prof.close()


def timing_only():
    prof = StageProfiler(trace_python_memory=False)
    with prof.stage("extract"):
        pass
    report = prof.report()
    prof.close()
    assert report["python_memory_traced"] is False
    row = row_of(report, "extract")
    assert row["py_kb_delta"] is None and row["py_kb_peak_max"] is None, row
    assert row["rss_kb_delta"] is not None and row["cpu_s"] is not None


def two_readings():
    """Transient memory: large peak, no delta. Retained: delta. Native: RSS alone."""
    prof = StageProfiler()
    with prof.stage("transient"):
        text = "x" * (20 << 20)
        del text
    with prof.stage("retained"):
        kept = [bytes(1 << 20) for _ in range(10)]
    report = prof.report()
    prof.close()
    transient, retained = row_of(report, "transient"), row_of(report, "retained")
    tap.near(transient["py_kb_peak_max"], 20 << 10, 64)
    tap.near(transient["py_kb_delta"], 0, 2)
    tap.near(retained["py_kb_delta"], len(kept) << 10, 64)
    tap.near(retained["py_kb_peak_max"], 10 << 10, 64)


def plain_dicts():
    prof = StageProfiler()
    with prof.stage("outer"), prof.stage("inner"):
        pass
    report = prof.report()
    prof.close()
    tap.equal(pickle.loads(pickle.dumps(report)), report)
    tap.equal(json.loads(json.dumps(report)), report)


def write_corpus(folder):
    """What the document's command line tool leaves: records with a section "profile"."""
    os.mkdir(os.path.join(folder, "results"))
    for app in ("one", "two"):
        path = pathlib.Path(folder, "results", app + ".flows.jsonl")
        with open(path, "w", encoding="utf-8") as out:
            for part in range(3):
                prof = StageProfiler()
                build_flow_graph(FILES[part:part + 5], ["net"], prof)
                record = {"input": f"{app}.{part}.apk", "profile": prof.report()}
                prof.close()
                print(json.dumps(record), file=out)
            print(json.dumps({"input": "unprofiled.apk"}), file=out)


def pandas():
    try:
        import pandas as _  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise tap.Skip("python3-pandas is not installed") from None
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(folder)
        os.chdir(folder)
        try:
            names, printed = run(PANDAS)
        finally:
            os.chdir(before)
    tap.equal(len(names.df), 18)
    tap.equal(sorted(set(names.df["stage"])), ["extract", "link", "link.classify"])
    tap.equal(names.df["calls"].sum(), 3 * 30)
    assert printed.split("\n")[0].split() == ["wall_s", "py_kb_peak_max"], printed
    assert "link.classify" in printed


if __name__ == "__main__":
    tap.run(own_code, library, same_results, wrap, timing_only, two_readings, plain_dicts, pandas)
