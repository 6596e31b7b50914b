# SPDX-License-Identifier: MIT
"""The one form in which benches hand over what they measured, for the table of tools/bench.py."""

import json


def row(what, value, unit, peer=None, peer_value=None, most=None, least=None):
    """Prints `bench: {...}`. The ratio is ours to the peer's; most or least is the goal for that, or,
    without a peer, for the value."""
    ratio = value / peer_value if peer_value else None
    judged = value if ratio is None else ratio
    print("bench: " + json.dumps({
        "what": what, "value": value, "unit": unit, "peer": peer, "peer_value": peer_value,
        "ratio": ratio, "most": most, "least": least,
        "holds": (most is None or judged <= most) and (least is None or judged >= least)}), flush=True)
