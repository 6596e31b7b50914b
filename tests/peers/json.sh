#!/bin/sh
# SPDX-License-Identifier: MIT
# json.sh AUGER TESTS: the JSON of speedscope and of the Firefox Profiler keeps to the published types
# and holds the stacks that the folded text holds.
# shellcheck source=tests/peers/lib.sh
. "$(dirname "$0")/lib.sh"

# check FORMAT FILE TYPE NAME
check() {
	"$auger" convert "$2" --to folded --value "$3" >want
	"$auger" convert "$2" --to "$1" --value "$3" -o got.json &&
		python3 "$tests/peers/json_stacks.py" "$1" got.json "$3" >got && diff want got >&2
	result "$4: $1" $?
}

corpus=$tests/fuzz/corpus
for format in speedscope firefox; do
	check $format "$corpus/pprof/go_cpu.pb.gz" cpu "Go, cpu"
	check $format "$corpus/pprof/go_heap.pb.gz" alloc_space "Go, heap"
	check $format "$corpus/folded/neighbours" samples "folded stacks"
	: >empty.folded
	check $format empty.folded samples "no stacks"
done
"$auger" merge --label pid=7 --label 'comm={file}' "$corpus/folded/marks" "$corpus/folded/neighbours" -o threads.pb.gz
check firefox threads.pb.gz samples "two threads"
check firefox "$corpus/pprof/times.pb.gz" cpu "samples with times"
"$auger" convert "$corpus/pprof/times.pb.gz" --to speedscope -o got.json &&
	python3 "$tests/peers/json_stacks.py" speedscope got.json "cpu (pid 28232, tid 28232) solver" >got &&
	grep -q 'solver. 56000000' got
result "samples with times: speedscope" $?
# Names that would break out of a string.
printf '"},{\\\\;</script>\033[2J\377 3\n' >hostile.folded
for format in speedscope firefox; do
	"$auger" convert hostile.folded --to $format -o got.json &&
		python3 "$tests/peers/json_stacks.py" $format got.json samples >got &&
		grep -qF '"},{\\;</script>' got
	result "hostile names: $format" $?
done
finish
