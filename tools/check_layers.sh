#!/bin/sh
# SPDX-License-Identifier: MIT
# A folder of src includes only itself and the folders on its line of tools/layers.txt; no circles.
exec /usr/bin/python3 "$(dirname "$0")/layers.py"
