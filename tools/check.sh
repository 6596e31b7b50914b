#!/bin/sh
# SPDX-License-Identifier: MIT
# make check: builds auger three ways and runs every test. Exit status 0: all is well.
#   build       gcc, warnings are errors; all tests
#   build-asan  clang, ASan and UBSan; all but what cannot run under them (suites oom, preload) and
#               what compares figures (suites peers, release); each fuzz target for FUZZ_SECONDS (10
#               in CI, else 1)
#   build-tsan  TSan; the tests of suite threads
# Most live tests run alone and wait much of their time. So the other builds are compiled and tested
# beside them, with what the live tests leave of the CPUs (tools/beside.sh). A live test that fails
# runs once more when all else has ended; when it then passes, it is named as flaky.
# Leaves "PASSED FAILED SKIPPED" in build/check.totals, and names in build/check.{failed,flaky}.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${FUZZ_SECONDS:=$([ "${CI:-}" = true ] && echo 10 || echo 1)}"
export FUZZ_SECONDS
began=$(date +%s)

headline() {
	printf '\n== %s (%s s)\n' "$1" "$(($(date +%s) - began))"
}

# broken WORDS: a step that is no test has failed.
broken() {
	echo "check: $1" | tee -a "$state/broken" >&2
}

# configure DIR ARG...: once; later changes of the build files are Ninja's business.
configure() {
	dir=$1
	shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" "$@" >"$state/setup.$dir" 2>&1 || {
		cat "$state/setup.$dir"
		broken "cannot configure $dir"
		return 1
	}
}

# run_tests NAME DIR ARG...: builds what the tests need, and runs them. Names their logs in $state.
run_tests() {
	name=$1
	dir=$2
	shift 2
	log=$dir/meson-logs/$name${beside:+-beside.sh}.json
	rm -f "$log"
	meson test -C "$dir" --print-errorlogs --logbase "$name" \
		${beside:+--wrapper "$beside"} "$@"
	[ -f "$log" ] || {
		broken "the tests '$name' of $dir did not run"
		return 1
	}
	echo "$log" >>"$state/logs.$name"
	tools/count_tests.py --failed-live "$log" | sed "s|^|$dir |" >>"$state/again"
}

# The live tests that failed run once more, alone: nothing else runs by now.
run_again() {
	for dir in build build-asan build-tsan; do
		again=$(sed -n "s/^$dir //p" "$state/again")
		[ -n "$again" ] || continue
		echo "check: $dir, once more:" "$(echo "$again" | tr '\n' ' ')"
		slower=3
		[ "$dir" = build ] && slower=1
		# shellcheck disable=SC2086 # words
		meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes 1 --logbase again \
			--timeout-multiplier $slower $again
		echo "$dir/meson-logs/again.json" >>"$state/logs.again"
	done
}

lane_memory() {
	headline "build-asan: clang, address and undefined behavior sanitizers"
	CC=clang CXX=clang++ configure build-asan --native-file build-dev.ini -Dfuzz=true || return
	ninja -C build-asan all meson-test-prereq || {
		broken "build-asan does not compile"
		return
	}
	headline "build-asan: all tests, and each fuzz target for $FUZZ_SECONDS s"
	run_tests fuzz build-asan --no-rebuild --suite fuzz --num-processes 2 >"$state/output.fuzz" 2>&1 &
	run_tests asan build-asan --no-rebuild --no-suite oom --no-suite preload --no-suite peers \
		--no-suite release --no-suite fuzz --no-suite fuzz-peers --timeout-multiplier 5
	wait
}

lane_threads() {
	headline "build: each allocation fails in turn; build-tsan: thread sanitizer"
	run_tests oom build --no-rebuild --suite oom --timeout-multiplier 3 >"$state/output.oom" 2>&1 &
	configure build-tsan --native-file build-dev.ini -Db_sanitize=thread &&
		run_tests tsan build-tsan --suite threads --timeout-multiplier 5
	wait
}

# start_lane NAME NICE
start_lane() {
	BESIDE_NICE=$2 setsid tools/beside.sh tools/check.sh --lane "$1" >"$state/output.$1" 2>&1 &
	lanes="$lanes $!"
}

stop_lanes() {
	for lane in $lanes; do
		kill -- "-$lane" 2>/dev/null
	done
	exit 130
}

all_lanes() {
	headline "build: gcc, warnings are errors"
	configure build --werror || return
	grep -q -- '-Werror' build/build.ninja || meson configure build -Dwerror=true
	ninja -C build all meson-test-prereq || {
		broken "build does not compile"
		return
	}
	start_lane memory 8 # the longer one
	start_lane threads 10
	headline "build: all tests"
	run_tests main build --no-suite oom
	headline "the tests of the other builds, which run since"
	# shellcheck disable=SC2086 # words
	wait $lanes
	cat "$state"/output.*
	run_again
}

finish() {
	mv "$state/logs.again" "$state/last" 2>/dev/null
	cat "$state"/logs.* "$state/last" >"$state/all" 2>/dev/null
	# shellcheck disable=SC2046 # words
	set -- $(xargs tools/count_tests.py <"$state/all")
	[ $(($1 + $2)) -gt 0 ] || broken "no test ran"
	failed=$(($2 + left + $(wc -l <"$state/broken")))
	passed=$(($1 + 1 - left))
	if [ -d build ]; then
		echo "$passed $failed $3" >build/check.totals
		xargs tools/count_tests.py --failed <"$state/all" >build/check.failed
		cat "$state/broken" "$state/left" >>build/check.failed
		xargs tools/count_tests.py --flaky <"$state/all" >build/check.flaky
	fi
	printf '\n== sums (%s s)\n' "$(($(date +%s) - began))"
	cat build/check.failed build/check.flaky
	echo "check: $passed passed, $failed failed, $3 skipped"
	[ "$failed" -eq 0 ]
}

beside=
if [ "${1:-}" = --lane ]; then
	beside=$PWD/tools/beside.sh
	"lane_$2"
	exit
fi
rm -f build/check.totals build/check.failed build/check.flaky
state=$(mktemp -d) || exit 1
: >"$state/broken"
: >"$state/again"
run=$(tools/leftovers.py begin) || exit 1
export state TMPDIR="$run/tmp" AUGER_TEST_RUN="$run" began
lanes=
trap stop_lanes INT TERM
all_lanes
left=0
tools/leftovers.py end "$run" >"$state/left" || left=1
finish
status=$?
rm -rf "$state"
exit $status
