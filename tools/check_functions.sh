#!/bin/sh
# SPDX-License-Identifier: MIT
# No function is longer than 70 lines; a file over 600 lines is named, but is no failure.
set -u
cd "$(dirname "$0")/.." || exit 1

git ls-files '*.c' '*.h' | xargs -r wc -l | awk '
	$2 != "total" && $1 > 600 { print $2 ":1: " $1 " lines: one concept each? (a warning)" }' >&2
git ls-files '*.c' '*.h' | ctags -L - --languages=C --langmap=C:+.h --kinds-C=f --fields=+ne -o - | awk -F'\t' '
	/^!/ { next }
	{
		for (i = 4; i <= NF; i++) {
			if ($i ~ /^line:/)
				first = substr($i, 6)
			if ($i ~ /^end:/)
				last = substr($i, 5)
		}
		if (last - first + 1 > 70) {
			print $2 ":" first ": " $1 " has " last - first + 1 " lines, more than 70"
			bad = 1
		}
	}
	END { exit bad }' >&2
