#!/bin/sh
# SPDX-License-Identifier: MIT
# make check: builds auger four ways and runs every test. Exit status 0: all is well.
#   build       warnings are errors; all tests
#   build-asan  ASan and UBSan; all but what cannot run under them (suites oom, preload) and what
#               measures (suite release)
#   build-tsan  TSan; the tests of suite threads, if there are any
#   build-fuzz  clang and libFuzzer; each target for FUZZ_SECONDS (10 in CI, else 3)
# Leaves "PASSED FAILED SKIPPED" in build/check.totals.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${FUZZ_SECONDS:=$([ "${CI:-}" = true ] && echo 10 || echo 3)}"
export FUZZ_SECONDS
began=$(date +%s)
logs=
status=0

headline() {
	printf '\n== %s (%s s)\n' "$1" "$(($(date +%s) - began))"
}

# configure DIR ARG...: once; later changes of the build files are Ninja's business.
configure() {
	dir=$1
	shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" "$@" >"$dir.log" 2>&1 || {
		cat "$dir.log"
		return 1
	}
	rm -f "$dir.log"
}

# run_tests DIR ARG...: tests of a build that is up to date. Those of suite live look at a machine
# that does other work too: one that fails runs once more, alone.
run_tests() {
	dir=$1
	shift
	log=$dir/meson-logs/testlog.json
	rm -f "$log" "$dir/meson-logs/again.json"
	meson test -C "$dir" --no-rebuild --print-errorlogs "$@"
	[ -f "$log" ] || fail "the tests of $dir did not run"
	logs="$logs $log"
	again=$(tools/count_tests.py --failed-live "$log")
	[ -n "$again" ] || return
	# shellcheck disable=SC2086 # words
	printf 'check: once more: %s\n' $again
	# shellcheck disable=SC2086 # words
	meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes 1 --logbase again \
		--timeout-multiplier 3 $again
	logs="$logs $dir/meson-logs/again.json"
}

finish() {
	# shellcheck disable=SC2046,SC2086 # words
	set -- $(tools/count_tests.py $logs)
	[ "$2" -eq 0 ] || status=1
	if [ -d build ]; then
		echo "$*" >build/check.totals
		# shellcheck disable=SC2086 # words
		tools/count_tests.py --failed $logs >build/check.failed
		cat build/check.failed
	fi
	printf '\ncheck: %s passed, %s failed, %s skipped (%s s)\n' "$@" $(($(date +%s) - began))
	exit $status
}

fail() {
	echo "check: $1" >&2
	status=1
	finish
}

has_thread_tests() {
	meson test -C build --no-rebuild --list --suite threads 2>/dev/null | grep -q ' / '
}

rm -f build/check.totals
headline "build: gcc, warnings are errors"
configure build --werror || fail "cannot configure build"
grep -q -- '-Werror' build/build.ninja || meson configure build -Dwerror=true
ninja -C build || fail "build does not compile"
headline "build: all tests"
run_tests build

headline "build-asan: address and undefined behaviour sanitizers"
configure build-asan --native-file build-dev.ini || fail "cannot configure build-asan"
ninja -C build-asan || fail "build-asan does not compile"
run_tests build-asan --no-suite oom --no-suite preload --no-suite release --timeout-multiplier 3

if has_thread_tests; then
	headline "build-tsan: thread sanitizer"
	configure build-tsan --native-file build-dev.ini -Db_sanitize=thread ||
		fail "cannot configure build-tsan"
	ninja -C build-tsan || fail "build-tsan does not compile"
	run_tests build-tsan --suite threads --timeout-multiplier 5
fi

headline "build-fuzz: clang, each fuzz target for $FUZZ_SECONDS s"
CC=clang configure build-fuzz --native-file build-dev.ini -Dfuzz=true ||
	fail "cannot configure build-fuzz"
ninja -C build-fuzz || fail "build-fuzz does not compile"
run_tests build-fuzz --suite fuzz --num-processes 2
finish
