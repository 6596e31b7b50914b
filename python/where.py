# SPDX-License-Identifier: MIT
"""where.py PREFIX: where this python finds packages that are installed under PREFIX, or else where
PYTHONPATH has to say so."""

import os
import site
import sys
import sysconfig

prefix = os.path.join(sys.argv[1], "lib", "")
found = [path for path in site.getsitepackages() if path.startswith(prefix)]
other = sysconfig.get_path("platlib", "posix_prefix", {"platbase": sys.argv[1]})
print(found[0] if found else other)
