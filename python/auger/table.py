# SPDX-License-Identifier: MIT
"""A report as text, with the columns and units of 'auger stages'."""

_TIMES = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_SIZES = ((2**20, "GiB"), (2**10, "MiB"), (1, "KiB"))


def _scaled(value, units):
    """Three significant digits."""
    if not value:
        return "0"
    factor, unit = next((pair for pair in units if abs(value) >= pair[0]), units[-1])
    scaled = value / factor
    digits = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
    return f"{scaled:.{digits}f} {unit}"


def _seconds(value):
    return "-" if value is None else _scaled(value, _TIMES)


def _kib(value):
    return "-" if value is None else _scaled(value, _SIZES)


def _cells(row, total):
    wall, calls = row["wall_s"], row["calls"]
    many = calls != 1
    return (_seconds(wall), f"{100 * wall / total:.1f}%" if total else "-", str(calls),
            _seconds(wall / calls) if many and calls else "-", _seconds(row.get("self_wall_s")), _seconds(row.get("cpu_s")),
            _seconds(row.get("wall_max_s")) if many else "-", _kib(row.get("py_kb_peak_max")), _kib(row.get("rss_kb_delta")))


_HEADS = ("wall", "share", "calls", "mean", "self", "cpu", "max", "py peak", "rss delta")


def text_of(report):
    """The stages, the longest first, and what the whole took."""
    if not report:
        return "no stages: the profiler is off\n"
    total = report["total_wall_s"]
    rows = sorted(report["stages"], key=lambda row: -row["wall_s"])
    table = [_HEADS, *(_cells(row, total) for row in rows)]
    shown = [i for i, head in enumerate(_HEADS) if head in ("wall", "calls") or any(line[i] not in "-0" for line in table[1:])]
    widths = [max(len(line[i]) for line in table) for i in shown]
    lines = [f"# total wall: {_seconds(total)}, cpu: {_seconds(report.get('total_cpu_s'))}, "
             f"rss peak: {_kib(report.get('rss_kb_peak'))}"]
    for line, name in zip(table, ("stage", *(row["stage"] for row in rows))):
        cells = (line[i].rjust(width) for i, width in zip(shown, widths))
        lines.append("  ".join((*cells, name.encode("unicode_escape").decode() if not name.isprintable() else name)))
    return "\n".join(lines) + "\n"
