#!/bin/sh
# SPDX-License-Identifier: MIT
# akaros.sh AUGER TESTS: go tool pprof and google-pprof see every sample of every damaged trace,
# in each format that auger makes of it. A peer that is not installed is skipped.
# shellcheck source=tests/peers/lib.sh
. "$(dirname "$0")/lib.sh"

# go_count FILE: the samples, and whether their time is that of the period.
go_count() {
	go tool pprof -symbolize=none -raw "$1" 2>err | awk '
		/^Period:/ { period = $2 }
		/^Samples:/ { on = 1; next }
		/^Locations/ { on = 0 }
		on && /^ *[0-9]+ +[0-9]+:/ { samples += $1; time += $2 }
		END { print samples + 0, (!period || time == samples * period) ? "sound" : "wrong" }'
}

google_count() {
	google-pprof --no-auto-signal-frm --addresses --text "$@" 2>err |
		sed -n 's/^Total: \([0-9]*\) samples.*/\1/p'
}

# case_go NAME COUNT LEGACY_COUNT
case_go() {
	if ! has go; then
		skip "$1: go tool pprof" "go is not installed"
		return
	fi
	"$auger" convert --from akaros "$1" -o "$1.pb.gz" 2>err &&
		[ "$(go_count "$1.pb.gz")" = "$2 sound" ] &&
		"$auger" convert --from akaros "$1" -o "$1.prof" 2>err &&
		[ "$(go_count "$1.prof")" = "$3 sound" ]
	result "$1: go tool pprof" $?
}

# case_google NAME COUNT
case_google() {
	if ! has google-pprof; then
		skip "$1: google-pprof" "google-pprof is not installed"
		return
	fi
	"$auger" convert --from akaros "$1" --to gperftools-symbols -o "$1.sym" 2>err &&
		[ "$(google_count "$1.sym")" = "$2" ] &&
		"$auger" convert --from akaros "$1" -o "$1.prof" 2>err &&
		[ "$(google_count /bin/true "$1.prof")" = "$2" ]
	result "$1: google-pprof" $?
}

python3 "$tests/golden/convert/make_trace.py" --list >list
while read -r name samples; do
	case $name in
	empty | no_trace) continue ;;
	# cores with periods of their own: the legacy format then counts microseconds
	two_periods) legacy=110000 ;;
	*) legacy=$samples ;;
	esac
	# shellcheck disable=SC2094 # no case is called list
	python3 "$tests/golden/convert/make_trace.py" "$name" >"$name"
	case_go "$name" "$samples" "$legacy"
	case_google "$name" "$legacy"
done <list

# Kernel and user, which op2 makes one, stay three places; and --svg needs nothing but the file.
if has google-pprof; then
	google-pprof --addresses --text kernel_and_user.sym 2>err | grep -c ' 33\.3% ' >places
	[ "$(cat places)" = 3 ]
	result "google-pprof: no two addresses become one" $?
	google-pprof --addresses --dot plain.sym 2>err | grep -q 'N2 -> N1 .label=15'
	result "google-pprof: a graph" $?
fi

# op2's own output, by a second implementation of it.
python3 - kernel_and_user cut_in_pcs many_cores no_frames middle >op2.err 2>&1 <<'PY' -- "$auger"
import collections, struct, subprocess, sys
auger = sys.argv[-1]
for name in sys.argv[1:-2]:
    data = open(name, "rb").read()
    at, samples, first, last = 0, 0, 0, 0
    counts = collections.OrderedDict()
    while len(data) - at >= 16:
        n, last = data[at], struct.unpack_from("<Q", data, at + 8)[0]
        first = first or last
        at += 16
        pcs = struct.unpack_from("<%dQ" % n, data, at) if len(data) - at >= 8 * n else (0,) * n
        at = min(len(data), at + 8 * n)
        key = tuple(pc & 0xFFFFFFFF for pc in pcs)
        counts[key] = counts.get(key, 0) + 1
        samples += 1
    want = [0, 3, 0, ((last - first) % 2**64) // samples, 0]
    for key, count in counts.items():
        want += [count, len(key), *key]
    got = subprocess.run([auger, "convert", "--op2-compatible", name], capture_output=True).stdout
    if got != struct.pack("<%dQ" % (len(want) + 3), *want, 0, 1, 0):
        sys.exit(name)
PY
status=$?
cat op2.err >&2
result "as op2" $status
finish
