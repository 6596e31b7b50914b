#!/bin/sh
# SPDX-License-Identifier: MIT
# Only src/cli prints, and only main ends the process. (_exit in a forked child is allowed.)
set -u
cd "$(dirname "$0")/.." || exit 1

calls='\b(exit|abort|quick_exit|v?printf|puts|putchar|perror|v?warnx?|v?errx?|error)[[:space:]]*\('
streams='\b(fprintf|fputs|fputc|putc|fwrite|vfprintf)[[:space:]]*\(.*\b(stderr|stdout)\b'
found=$(git ls-files 'src/*.c' 'src/*.h' | grep -v '^src/cli/' | xargs -r grep -nHE "$calls|$streams" |
	grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)')
[ -z "$found" ] || {
	echo "$found" | sed 's/^\([^:]*:[0-9]*\):[[:space:]]*/\1: prints or exits below src\/cli: /' >&2
	exit 1
}
