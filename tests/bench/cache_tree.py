# SPDX-License-Identifier: MIT
"""The tree that the benches of the cache look at."""

import os

BIG = 64 << 20


def fill(root):
    os.makedirs(f"{root}/d1/d2/d3/files")
    os.makedirs(f"{root}/small")
    rows = [(f"d1/d2/d3/files/{i}", 100) for i in range(2000)] + [(f"small/{i}", 8192) for i in range(1000)]
    for i in range(50):
        os.makedirs(f"{root}/folders/{i}")
        rows += [(f"folders/{i}/{j}", 1) for j in range(30)]
    for name, size in rows + [("large", BIG)]:
        with open(f"{root}/{name}", "wb") as f:
            f.write(os.urandom(size))
    # Written page by page it is in memory in pages, as all files of FUSE are (Linux 6.18), and
    # not in pieces of up to 2 MiB, as "large" is, where the file system can do that.
    with open(f"{root}/big", "wb", buffering=0) as f:
        for _ in range(BIG // 4096):
            f.write(os.urandom(4096))
