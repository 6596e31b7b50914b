#!/bin/sh
# SPDX-License-Identifier: MIT
# gperftools.sh AUGER TESTS: google-pprof and go tool pprof read the legacy CPU profiles that auger
# writes. A peer that is not installed is skipped.
# shellcheck source=tests/peers/lib.sh
. "$(dirname "$0")/lib.sh"

# --no-auto-signal-frm: else a second frame that all stacks share is taken for a signal's.
google() {
	google-pprof --no-auto-signal-frm --text "$@" 2>err
}

# Total, self and name; no total of a name that several functions have: one stack may hold two of them.
google_top() {
	google "$1" | sed 1d | sed -E 's/^ *([0-9]+) +[^ ]+ +[^ ]+ +([0-9]+) +[^ ]+ /\2 \1 /
		s/ \(inline\)$//' |
		awk '{ total = $1; self = $2; $1 = $2 = ""; t[$0] = $0 in t ? "-" : total; s[$0] += self }
			END { for (name in t) print t[name], s[name] name }' | sed 's/   */ /' | sort
}

# The same names lose their total.
as_google() {
	awk '{ total = $1; self = $2; $1 = $2 = "" }
		NR == FNR { if (total == "-") several[$0]; next }
		{ print ($0 in several ? "-" : total), self $0 }' peer "$1" | sed 's/   */ /' | sort
}

check_symbols() {
	if ! has google-pprof; then
		skip "$2" "google-pprof is not installed"
		return
	fi
	"$auger" convert "$1" --to gperftools-symbols -o symbols &&
		google_top symbols >peer && our_top symbols samples >all && as_google all >ours &&
		[ -s peer ] && diff peer ours >&2
	result "$2" $?
}

real=$tests/fuzz/corpus/gperftools/real
"$auger" convert "$real" -o ours.prof
if has google-pprof; then
	google --addresses /bin/true "$real" >before && google --addresses /bin/true ours.prof >after &&
		[ -s before ] && diff before after >&2
	result "google-pprof: addresses" $?
else
	skip "google-pprof: addresses" "google-pprof is not installed"
fi
if has go; then
	go tool pprof -symbolize=none -raw "$real" 2>err | sed '/^Mappings/,$d' >before
	go tool pprof -symbolize=none -raw ours.prof 2>err | sed '/^Mappings/,$d' >after
	[ -s before ] && diff before after >&2
	result "go tool pprof: samples and locations" $?
else
	skip "go tool pprof: samples and locations" "go is not installed"
fi
check_symbols "$real" "google-pprof: names of a real profile"
if record_shell; then
	check_symbols record.pb.gz "google-pprof: names of a recording"
else
	skip "google-pprof: names of a recording" "$(tail -n 1 err)"
fi
printf 'main;read;parse 3\nmain;read 4\nstart 1\n' >names.folded
check_symbols names.folded "google-pprof: frames that have only names"
finish
