#!/bin/sh
# SPDX-License-Identifier: MIT
# examples.sh TOOL SOLVER DOCS: runs the examples of the man pages.
#
# The ``` blocks under "# EXAMPLES" of a page are one script of sh, run in a folder with what they
# name: programs to record (./solver, which is also running, and its other names), profiles, a Makefile.
# A new name in an example is added to make_world here. A line with a program that this machine does
# not have, or cannot run, is not run: "# not run" prints it with the reason. Recording for ten seconds
# becomes one, and a screen ends after two. Where this machine lets nobody record, pages that need it are
# skipped.
set -u
tool=$(realpath "$1") || exit 1
solver=$(realpath "$2") || exit 1
docs=$(realpath "$3") || exit 1
work=$(mktemp -d) || exit 1
pid=
trap 'kill $pid 2>/dev/null; umount -l "$work/cwd/view" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/world"
export LC_ALL=C HOME="$work" PATH="$work/bin:$PATH" PAGER=cat

# absent PROGRAM: why it cannot be run here; status 1: it can.
absent() {
	if ! command -v "$1" >"$work/out"; then
		echo "$1 is not installed"
	elif [ "$1" = sacct ] && ! sacct -n -X -j 1 >"$work/out" 2>&1; then
		echo "sacct has no accounting to read"
	elif [ "$1" = systemd-run ] && ! systemd-run --user --scope true >"$work/out" 2>&1; then
		echo "systemd does not run for this user"
	else
		return 1
	fi
}

# drop NAME REGEX REASON: takes the lines that match out of the script, and prints them.
drop() {
	grep -E "$2" "$work/script" | sed "s,^,# not run: $1: ,; s,\$,: $3,"
	grep -vE "$2" "$work/script" >"$work/rest"
	mv "$work/rest" "$work/script"
}

# leave_out NAME: drops the lines whose programs are absent.
leave_out() {
	for program in $others; do
		reason=$(absent "$program") && drop "$1" "(^|[ |])$program( |\$)" "$reason"
	done
	scontrol ping >"$work/out" 2>&1 || drop "$1" 'relocate --job' 'no Slurm runs here'
}

# A program with its source and a profile of it.
make_recording() {
	$can_record || return 0
	mkdir src
	printf '%s\n' '#include <time.h>' 'int main(void)' '{' '	volatile int n = 0;' '' \
		'	while (clock() < CLOCKS_PER_SEC / 5)' '		n++;' '	return 0;' '}' >src/fill.c
	cc -g -O1 -o fill src/fill.c && auger record -o run.pb.gz -- ./fill
}

# Two ranks that ended well.
make_job() {
	cp -R "$docs/../tests/golden/cache/job" job
	rm -r job/profiling/runtime-snapshot job/profiling/final/nid-0003-*
	for table in job/tables/final/nid-0001-4711-*; do
		cp "$table" "job/tables/final/nid-0002-811-${table##*-4711-}"
	done
}

make_world() {
	ln -s "$tool" "$work/bin/auger"

	cd "$work/world" || return 1
	for name in solver solver-new work prog run-test; do
		ln -s "$solver" $name
	done
	touch input.dat
	printf 'all: one two\none two:\n\t./solver >/dev/null\n' >Makefile
	perf record -q -g -o perf.data -- ./solver || cp "$docs/../tests/fuzz/corpus/perfdata/chains" perf.data
	printf 'JobID|State|Elapsed|MaxRSS\n120_0|COMPLETED|00:00:18|99132K\n' >sacct.txt
	printf 'main;fill;memset 70\nmain;read_input 30\nmain 5\n' >stacks.folded
	cp "$docs/../tests/golden/convert/bpftrace.txt" maps.txt
	printf 'start_thread;work;fill;memset 90\n' >worker.folded
	for name in before after v1 v2 rank-00 rank-01 rank-02 rank-03; do
		auger convert stacks.folded -o $name.pb.gz || return 1
	done
	mkdir ranks && cp rank-*.pb.gz ranks
	cp "$docs/../tests/fuzz/corpus/akaros/plain" trace
	make_job
	mkdir results
	cp "$docs"/../tests/golden/stages/results/a.flows.jsonl results
	cp results/a.flows.jsonl before.jsonl
	cp results/a.flows.jsonl after.jsonl
	for name in node1 node2; do
		mkdir $name
		cp v1.pb.gz $name/auger.pb.gz
	done
	auger merge --label 'comm={file}' stacks.folded worker.folded -o auger.pb.gz &&
		make_recording &&
		auger merge --label comm=worker "$docs/../tests/fuzz/corpus/pprof/go_heap.pb.gz" \
			-o heap.pb.gz
}

# Programs of others that examples run.
others='flamegraph.pl go jq make perf sacct stackcollapse-perf.pl systemd-run'

# What is written before the script of auger-relocate, which runs in a mount namespace of its own.
storage() {
	cat <<-'END'
		for name in scratch scratch2 projects projects2; do
			mkdir $name
			mount -t tmpfs none $name
		done
		(cd scratch && exec sleep 100 >out) &
		job=$!
		(cd projects && exec sleep 100 >out) &
		until [ -e scratch/out ] && [ -e projects/out ]; do
			sleep 0.1
		done
	END
}

# examples PAGE: the script.
examples() {
	[ "$(basename "$1")" != auger-relocate.1.scd ] || storage
	awk '/^# / { is_examples = $2 == "EXAMPLES" }
		/^```/ { is_code = !is_code; next }
		is_examples && is_code' "$1" |
		sed 's/\\\(.\)/\1/g; s/-d 10\b/-d 1/; s,/\(scratch\|projects\),$PWD/\1,g; s/\b4711\b/$job/; s/^auger top$/timeout --preserve-status -s INT 2 &/'
}

run_page() {
	cp -R "$work/world" "$work/cwd"
	apart=
	grep -q 'auger relocate' "$work/script" && apart='unshare -m --propagation private'
	# shellcheck disable=SC2086 # words
	(cd "$work/cwd" && exec timeout 60 $apart sh -eux "$work/script" </dev/null >/dev/null 2>"$work/err") &
	group=$! # timeout makes one
	wait $group
	status=$?
	kill -- -$group 2>/dev/null # what a script that failed has left
	mountpoint -q "$work/cwd/prof" && fusermount3 -u -z "$work/cwd/prof"
	rm -rf "$work/cwd"
	return $status
}

can_record=true
"$tool" record -o "$work/try.pb.gz" -- true 2>/dev/null || can_record=false
# Mounting needs the device, and sampling the machine root
can_mount=true
{ [ "$(id -u)" -eq 0 ] && [ -e /dev/fuse ] && command -v fusermount3 >"$work/out"; } || can_mount=false
can_move=true
unshare -m --propagation private true 2>/dev/null || can_move=false
make_world >"$work/out" 2>&1 || {
	cat "$work/out" >&2
	exit 1
}
"$solver" forever &
pid=$!

count=0
bad=0
for page in "$docs"/*.1.scd; do
	count=$((count + 1))
	name=$(basename "$page" .scd)
	examples "$page" >"$work/script"
	leave_out "$name"
	if ! $can_move && grep -q 'auger relocate' "$work/script"; then
		echo "ok $count - $name # SKIP nobody may mount here"
	elif ! $can_record && grep -qE 'auger (record|top|annotate)' "$work/script"; then
		echo "ok $count - $name # SKIP nobody may record here"
	elif ! $can_mount && grep -qE 'auger (control|cache)' "$work/script"; then
		echo "ok $count - $name # SKIP nobody may mount here"
	elif run_page; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed "s,^,$name: ," "$work/err" | tail -n 5 >&2
		bad=1
	fi
done
echo "1..$count"
exit $bad
