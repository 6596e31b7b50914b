#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh TARGET CORPUS: searches with libFuzzer for FUZZ_SECONDS (default 3), from the corpus.
#
# An input that breaks the target is kept beside it, and named. To keep new inputs instead of
# forgetting them, run the target by hand: `build-asan/tests/fuzz/fuzz_X tests/fuzz/corpus/X`.
set -u
target=$1
corpus=$2
found=$(mktemp -d) || exit 1
trap 'rm -rf "$found"' EXIT

"$(dirname "$0")/fuzzer.sh" "$target" -max_total_time="${FUZZ_SECONDS:-3}" -timeout=10 \
	-print_final_stats=1 -artifact_prefix="$target-" "$found" "$corpus" >"$found.log" 2>&1
status=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log")
if [ $status -eq 0 ]; then
	echo "ok 1 - ${runs:-?} runs"
else
	echo "not ok 1 - after ${runs:-?} runs"
	tail -n 60 "$found.log" >&2
fi
rm -f "$found.log"
echo "1..1"
exit $status
