#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh TOOL FAILING_LIBRARY COMMANDS [PART PARTS]: lets each allocation of each command fail in
# turn; of PARTS equal parts of the commands only those of PART, from 0.
#
# COMMANDS holds lines of sh with `auger` in them, run in a folder of their own with OOM set to that
# of COMMANDS, and the command `nothing` found; "#" lines are comments. Each run must end by itself:
# with exit status 1 and "out of memory" on standard error, or as the undisturbed run does when that
# allocation is not needed (a cache, libc's own); what shows less than usual must say "out of memory".
# A stride bounds the runs of one command.
set -u
tool=$(realpath "$1") || exit 1
failing=$(realpath "$2") || exit 1
commands=$3
part=${4:-0}
parts=${5:-1}
most=400 # runs of one command
OOM=$(cd "$(dirname "$commands")" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
PATH=${failing%/*}:$PATH
export OOM PATH LC_ALL=C TZ=UTC NO_COLOR=1
unset DEBUGINFOD_URLS MALLOC_PERTURB_

# The shell of a command must not fail, only auger.
auger() {
	LD_PRELOAD=$failing "$tool" "$@"
}

# run NAME VALUE COMMAND: with this in the environment.
run() {
	(
		export "$1=$2"
		cd "$work/cwd" && eval "$3"
	) </dev/null >"$work/out" 2>"$work/err"
}

# is_told: does standard error speak of memory?
is_told() {
	while read -r line; do
		case $line in
		*[Oo]'ut of memory'* | *[Cc]'annot allocate memory'*) return 0 ;;
		esac
	done <"$work/err"
	return 1
}

# judge STATUS: sets reason to what is wrong with the run that just ended, or to nothing. Builtins
# where possible: there are thousands of runs.
judge() {
	reason=
	if [ "$1" -gt 128 ]; then
		reason="ended by signal $(($1 - 128))"
	elif is_told; then
		[ "$1" -eq 1 ] || [ "$1" -eq "$good" ] || reason="exit status $1"
	elif [ "$1" -eq "$good" ]; then
		cmp -s "$work/out" "$work/good" || reason="prints something else, without a word"
	else
		reason="exit status $1 without 'out of memory': $(head -n 1 "$work/err")"
	fi
}

# fail_each COMMAND: status 0 when every run was as it must be.
fail_each() {
	rm -rf "$work/cwd" "$work/count"
	mkdir "$work/cwd"
	run OOM_COUNT_FILE "$work/count" "$1"
	good=$?
	cp "$work/out" "$work/good"
	total=$(cat "$work/count" 2>/dev/null)
	if [ -z "$total" ] || [ $good -gt 2 ]; then
		echo "the undisturbed run ends with status $good: $(head -n 1 "$work/err")" >&2
		return 1
	fi
	stride=$(((total + most - 1) / most))
	at=1
	wrong=0
	while [ $at -le "$total" ]; do
		run OOM_FAIL_AT $at "$1"
		judge $?
		if [ -n "$reason" ]; then
			echo "OOM_FAIL_AT=$at LD_PRELOAD=$failing $1: $reason" >&2
			wrong=$((wrong + 1))
		fi
		at=$((at + stride))
	done
	[ $wrong -eq 0 ]
}

number=0
count=0
bad=0
while read -r command; do
	case $command in
	'' | '#'*) continue ;;
	esac
	number=$((number + 1))
	[ $((number % parts)) -eq "$part" ] || continue
	count=$((count + 1))
	if fail_each "$command"; then
		echo "ok $count - $command: $total allocations, in steps of $stride"
	else
		echo "not ok $count - $command"
		bad=1
	fi
done <"$commands"
echo "1..$count"
exit $bad
