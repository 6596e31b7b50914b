#!/bin/sh
# SPDX-License-Identifier: MIT
# test.sh: unit, golden, docs and quick live tests of build/, which takes less than two minutes.
# test.sh NAME...: these tests only, or golden cases by CMD/NAME. Builds what they need.
set -u
cd "$(dirname "$0")/.." || exit 1
run=$(tools/leftovers.py begin) || exit 1
export TMPDIR="$run/tmp" AUGER_TEST_RUN="$run"
status=0
tests=
cases=
for name; do
	if [ -e "tests/golden/$name.cmd" ]; then
		cases="$cases $name"
	elif meson test -C build --no-rebuild --list 2>/dev/null | grep -qx ".* / $name"; then
		tests="$tests $name"
	else
		echo "make test: there is no test or golden case '$name'" >&2
		status=2
	fi
done
[ $# -gt 0 ] || tests="--suite unit --suite golden --suite docs --suite quick"

# shellcheck disable=SC2086 # words
if [ -n "$cases" ]; then
	ninja -C build src/cli/auger && tests/golden/run.sh build/src/cli/auger $cases || status=1
fi
# shellcheck disable=SC2086 # words
if [ -n "$tests" ]; then
	meson test -C build --print-errorlogs $tests || status=1
fi
tools/leftovers.py end "$run" || status=1
exit $status
