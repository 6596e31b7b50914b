#!/bin/sh
# SPDX-License-Identifier: MIT
# Records a real workload alone and four times side by side, and shows where the time goes.
# usage: tools/demo.sh [BUILD_DIR [OUTPUT_DIR]]
set -eu

build=${1:-build}
out=${2:-demo}
auger=$build/src/cli/auger
matrices=$build/examples/matrices/matrices
mkdir -p "$out"

say()
{
	if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
		printf '\n\033[1m%s\033[0m\n' "$*"
	else
		printf '\n%s\n' "$*"
	fi
}

say "1. One run: auger record -- matrices"
"$auger" record -o "$out/solo.pb.gz" -- "$matrices"

say "2. Four runs side by side"
"$auger" record -o "$out/four.pb.gz" -- \
	sh -c '"$0" & "$0" & "$0" & "$0" & wait' "$matrices"

say "3. Where the four spent their time: auger report"
"$auger" report -n 12 "$out/four.pb.gz"

say "4. Who calls the page faults: auger report --tree --focus initprm"
"$auger" report --tree --focus initprm --comm matrices -n 16 "$out/four.pb.gz"

for run in solo four; do
	"$auger" flame --title "matrices, $run" --comm matrices -o "$out/$run.svg" "$out/$run.pb.gz"
done
say "5. The same as pictures, for a browser"
printf '%s\n' "$out/solo.svg" "$out/four.svg"
