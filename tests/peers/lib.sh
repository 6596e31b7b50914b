#!/bin/sh
# SPDX-License-Identifier: MIT
# lib.sh: what the peers' tests share, to be read by them.
auger=${auger:?}
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
