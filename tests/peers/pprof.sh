#!/bin/sh
# SPDX-License-Identifier: MIT
# pprof.sh AUGER TESTS: go tool pprof and protoc read what auger writes as auger does. TESTS is this
# repository's tests folder. A peer that is not installed is skipped.
# shellcheck source=tests/peers/lib.sh
. "$(dirname "$0")/lib.sh"
message=perftools.profiles.Profile

raw() {
	go tool pprof -symbolize=none -raw "$1" 2>err || cat err
}

# Total, self and name of each function, as both print them.
peer_top() {
	go tool pprof -symbolize=none -top -sample_index="$2" -nodefraction=0 -edgefraction=0 \
		-nodecount=100000 -unit="$3" "$1" 2>err |
		sed -n '/flat%/,$p' | sed 1d |
		sed -E 's/^ *([0-9]+)[^ ]* +[^ ]+ +[^ ]+ +([0-9]+)[^ ]* +[^ ]+  /\2 \1 /
			s/ \((partial-)?inline\)$//' | sort
}

# Writing what was read is the same for the peer; writing it again is the same byte for byte.
check_rewrite() {
	"$auger" convert "$1" -o once.pb.gz && "$auger" convert once.pb.gz -o twice.pb.gz &&
		cmp once.pb.gz twice.pb.gz
	result "$2: written twice is the same" $?
	if has go; then
		raw "$1" >before && raw once.pb.gz >after && diff before after >&2
		result "$2: go tool pprof -raw" $?
	else
		skip "$2: go tool pprof -raw" "go is not installed"
	fi
	if has protoc; then
		gzip -dc once.pb.gz >once.pb
		protoc -I"$tests/fixtures" --decode=$message profile.proto <once.pb >text &&
			! grep -nE '^ *[0-9]+[:{ ]' text &&
			protoc -I"$tests/fixtures" --encode=$message profile.proto <text >encoded &&
			cmp once.pb encoded
		result "$2: protoc decodes all of it and encodes the same bytes" $?
	else
		skip "$2: protoc" "protoc is not installed"
	fi
}

check_top() {
	if has go; then
		peer_top "$1" "$2" "$3" >peer
		our_top "$1" "$2" >ours
		[ -s peer ] && diff peer ours >&2
		result "$4: go tool pprof -top" $?
	else
		skip "$4: go tool pprof -top" "go is not installed"
	fi
}

# Peers skip auger's extensions (src/format/pprof/fields.h): field 1099 behind the rest.
check_extension() {
	gzip -dc "$1" >extended.pb
	printf '\332\104\003abc' >>extended.pb
	if has go; then
		raw "$1" >before && gzip -nc extended.pb >extended.pb.gz && raw extended.pb.gz >after &&
			diff before after >&2
		result "extension: go tool pprof -raw" $?
	else
		skip "extension: go tool pprof -raw" "go is not installed"
	fi
	"$auger" report "$1" 2>&1 | sed 1d >before && "$auger" report extended.pb 2>&1 | sed 1d >after &&
		diff before after >&2
	result "extension: auger report" $?
}

corpus=$tests/fuzz/corpus
# Its addresses have no names, and must not get those of a library of this machine.
gzip -dc "$corpus/pprof/gperftools.pb.gz" | sed s,/x86_64-linux-gnu/,/x86_64-elsewhere/, | gzip -n >gperftools.pb.gz
for file in "$corpus"/pprof/go_*.gz gperftools.pb.gz "$corpus"/pprof/types.pb; do
	check_rewrite "$file" "$(basename "$file")"
done
"$auger" convert "$corpus/folded/stacks" -o folded.pb.gz
check_rewrite folded.pb.gz "folded stacks"
"$auger" merge --label rank "$corpus"/pprof/go_heap.pb.gz "$corpus"/pprof/go_heap.pb.gz -o merged.pb.gz
check_rewrite merged.pb.gz "merged with labels"
if record_shell; then
	check_rewrite record.pb.gz recording
	check_top record.pb.gz cpu nanoseconds recording
else
	skip recording "$(tail -n 1 err)"
fi
check_top "$corpus/pprof/go_cpu.pb.gz" cpu nanoseconds go_cpu.pb.gz
check_top "$corpus/pprof/go_heap.pb.gz" alloc_space B go_heap.pb.gz
# Legacy text: what pprof reads of it is what it reads of auger's copy. Names that only auger reads are in the other files.
for name in contention count growth heap_v2 java_contention java_heap; do
	"$auger" convert "$corpus/pprof-text/$name" -o legacy.pb.gz 2>/dev/null
	if has go; then
		raw "$corpus/pprof-text/$name" >before && raw legacy.pb.gz >after && diff before after >&2
		result "legacy $name: go tool pprof -raw" $?
	else
		skip "legacy $name: go tool pprof -raw" "go is not installed"
	fi
done
check_extension folded.pb.gz
check_top folded.pb.gz samples count "folded stacks"
finish
