# SPDX-License-Identifier: MIT
"""The tree that the benches of the cache look at."""

import os


def fill(root):
    os.makedirs(f"{root}/d1/d2/d3/files")
    os.makedirs(f"{root}/small")
    rows = [(f"d1/d2/d3/files/{i}", 100) for i in range(2000)] + [(f"small/{i}", 8192) for i in range(1000)]
    for i in range(50):
        os.makedirs(f"{root}/folders/{i}")
        rows += [(f"folders/{i}/{j}", 1) for j in range(30)]
    for name, size in rows + [("big", 64 << 20)]:
        with open(f"{root}/{name}", "wb") as f:
            f.write(os.urandom(size))
