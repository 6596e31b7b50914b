#!/bin/sh
# SPDX-License-Identifier: MIT
# Shared libraries in build/ export exactly what tools/exports.txt says ("LIBRARY SYMBOL" lines);
# the auger binary exports nothing of its own.
set -u
cd "$(dirname "$0")/.." || exit 1

# Symbols FILE defines for others, with their versions (whose own names nm shows as "A").
exported() {
	nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort
}

bad=0
complain() {
	echo "tools/exports.txt:1: $1" >&2
	bad=1
}

for binary in build/src/cli/auger build/src/auger build/auger; do
	[ -f "$binary" ] || continue
	# A program's versioned symbols are copies of a library's data.
	for symbol in $(exported "$binary" | grep -v @); do
		complain "$binary exports $symbol"
	done
done

expected=$(mktemp)
trap 'rm -f "$expected"' EXIT
for library in $(find build/src -type f \( -name 'lib*.so' -o -name 'lib*.so.[0-9]' \) 2>/dev/null | sort); do
	awk -v name="$(basename "$library")" '!/^#/ && $1 == name { print $2 }' tools/exports.txt |
		sort >"$expected"
	for symbol in $(exported "$library" | comm -23 - "$expected"); do
		complain "$library exports $symbol, which is not listed"
	done
	for symbol in $(exported "$library" | comm -13 - "$expected"); do
		complain "$library does not export $symbol, which is listed"
	done
done
exit $bad
