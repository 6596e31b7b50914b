#!/bin/sh
# SPDX-License-Identifier: MIT
# Every source file names its licence in the first three lines.
set -u
cd "$(dirname "$0")/.." || exit 1

bad=0
for file in $(git ls-files '*.c' '*.h' '*.sh' '*.py' '*.js' '*.f90' '*.cc' '*.cpp' Makefile .ci/run | grep -v '/corpus/'); do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' || {
		echo "$file:1: no 'SPDX-License-Identifier: MIT' line" >&2
		bad=1
	}
done
exit $bad
