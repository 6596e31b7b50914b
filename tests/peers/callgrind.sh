#!/bin/sh
# SPDX-License-Identifier: MIT
# callgrind.sh AUGER TESTS: callgrind_annotate finds the costs that auger report shows.
# shellcheck source=tests/peers/lib.sh
. "$(dirname "$0")/lib.sh"

# Self (or, inclusive, total) and name of each function.
peer_costs() {
	callgrind_annotate --threshold=100 --auto=no --show="$3" --sort="$3" --inclusive="$2" "$1" |
		python3 -c '
import re, sys
sums = {}
for line in sys.stdin:
    match = re.match(r"\s*([\d,]+) \([ \d.]+%\)  ([^:]*):(.*?)(?: \[[^\]]*\]+)?$", line)
    if match:
        name = match[3]
        sums[name] = sums.get(name, 0) + int(match[1].replace(",", ""))
for name, value in sums.items():
    if value:
        print(value, name)' | sort
}

# check FILE TYPE NAME INCLUSIVE
check() {
	if ! has callgrind_annotate; then
		skip "$3" "callgrind_annotate is not installed"
		return
	fi
	"$auger" convert "$1" --value "$2" -o out.callgrind && peer_costs out.callgrind "$4" "$2" >peer
	if [ "$4" = yes ]; then
		our_top "$1" "$2" | sed -E 's/^([0-9]+) [0-9]+ /\1 /' | sort >ours
	else
		our_top "$1" "$2" | sed -E 's/^[0-9]+ ([0-9]+) /\1 /' | grep -v '^0 ' | sort >ours
	fi
	[ -s peer ] && diff peer ours >&2
	result "$3" $?
}

corpus=$tests/fuzz/corpus
check "$corpus/pprof/go_cpu.pb.gz" cpu "self cost, Go" no
check "$corpus/pprof/go_heap.pb.gz" alloc_objects "self cost, Go's heap" no
check "$corpus/pprof/gperftools.pb.gz" cpu "self cost, gperftools" no
printf 'main;read;parse 3\nmain;read 4\nmain;write;flush 2\nstart 1\n' >names.folded
check names.folded samples "self cost, names only" no
check names.folded samples "inclusive cost, names only" yes
if record_shell; then
	check record.pb.gz cpu "self cost, a recording" no
else
	skip "self cost, a recording" "$(tail -n 1 err)"
fi
finish
