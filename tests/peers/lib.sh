#!/bin/sh
# SPDX-License-Identifier: MIT
# lib.sh: what the peers' tests share, read by them with their arguments AUGER TESTS: the program
# and this repository's tests folder. They then are in a fresh folder, which goes when they end.
set -u
auger=$(realpath "$1") || exit 1
# shellcheck disable=SC2034 # it is for the tests
tests=$(realpath "$2") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export LC_ALL=C TZ=UTC HOME="$work" PPROF_TMPDIR="$work" PPROF_PATH=/usr/bin/pprof
count=0
bad=0

# result NAME STATUS: one TAP line.
result() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		bad=1
	fi
}

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

has() {
	command -v "$1" >/dev/null
}

# record_shell: a profile of a short run, record.pb.gz; words on err.
record_shell() {
	# shellcheck disable=SC2016 # it is the recorded shell's variable
	"$auger" record -F 4999 -o record.pb.gz -- \
		sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' 2>err
}

# Total, self and name of each function, sorted.
our_top() {
	"$auger" report "$1" --value "$2" -n 0 -f json | python3 -c '
import json, sys
sums = {}
for row in json.load(sys.stdin)["rows"]:
    name = row["function"]
    if name == "[unknown]":
        name = "[%s]" % row["module"]
    total, own = sums.get(name, (0, 0))  # the peer puts functions of one name together
    sums[name] = (total + row["total"], own + row["self"])
for name, (total, own) in sums.items():
    print(total, own, name)' | sort
}

finish() {
	echo "1..$count"
	exit $bad
}
