#!/bin/sh
# SPDX-License-Identifier: MIT
# make lint: runs every tools/check_*.sh; each says what is wrong as "file:line: reason".
# Leaves "PASSED FAILED SKIPPED" in build/lint.totals.
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0

for check in tools/check_*.sh; do
	name=$(basename "$check" .sh | sed 's/^check_//')
	if "$check"; then
		echo "ok - $name"
		passed=$((passed + 1))
	else
		echo "not ok - $name ($check)"
		failed=$((failed + 1))
	fi
done
[ -d build ] && echo "$passed $failed 0" >build/lint.totals
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
