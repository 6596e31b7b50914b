#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh TOOL [--accept] [CMD/NAME...]: runs the golden cases (all of them, or those named).
#
# A case is tests/golden/CMD/NAME.cmd, lines of sh. They run in an empty folder with `auger` on
# PATH, AUGER set to the binary and GOLDEN to the folder of the case, where its inputs lie. Standard
# output, standard error and exit status are compared with NAME.out, NAME.err and NAME.exit; a
# missing file means nothing was printed, and status 0. --accept writes these files anew.
set -u
# An unset variable would end the shell with a message of its own making.
tool=${1:?"usage: run.sh TOOL [--accept] [CMD/NAME...]"}
shift
accept=false
if [ "${1:-}" = --accept ]; then
	accept=true
	shift
fi

root=$(cd "$(dirname "$0")" && pwd) || exit 1
AUGER=$(realpath "$tool") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/home"
ln -s "$AUGER" "$work/bin/auger"
PATH=$work/bin:$PATH HOME=$work/home LC_ALL=C TZ=UTC NO_COLOR=1 COLUMNS=100
export AUGER PATH HOME LC_ALL TZ NO_COLOR COLUMNS
unset AUGER_LOG DEBUGINFOD_URLS

# same NAME KIND: does $work/KIND hold what the case expects?
same() {
	expected=$root/$1.$2
	[ -e "$expected" ] || expected=/dev/null
	diff -u --label "expected $2" --label "got $2" "$expected" "$work/$2" >&2
}

# keep NAME KIND: the file of the case becomes $work/KIND, or goes when that is empty.
keep() {
	if [ -s "$work/$2" ]; then
		cmp -s "$work/$2" "$root/$1.$2" || cp "$work/$2" "$root/$1.$2"
	else
		rm -f "$root/$1.$2"
	fi
}

run_case() {
	GOLDEN=$root/$(dirname "$1")
	export GOLDEN
	rm -rf "$work/cwd"
	mkdir "$work/cwd"
	(cd "$work/cwd" && exec sh "$root/$1.cmd" </dev/null >"$work/out" 2>"$work/err")
	status=$?
	: >"$work/exit"
	[ $status -eq 0 ] || echo $status >"$work/exit"
}

count=0
bad=0
if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046 # no blanks in the names of cases
	set -- $(cd "$root" && find . -name '*.cmd' | sed 's,^\./,,; s,\.cmd$,,' | sort)
fi
for name; do
	count=$((count + 1))
	run_case "$name"
	result=ok
	for kind in out err exit; do
		if $accept; then
			keep "$name" $kind
		elif ! same "$name" $kind; then
			result="not ok"
		fi
	done
	[ "$result" = ok ] || bad=1
	echo "$result $count - $name"
done
echo "1..$count"
exit $bad
