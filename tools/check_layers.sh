#!/bin/sh
# SPDX-License-Identifier: MIT
# A folder of src includes only itself and the folders on its line here.
set -u
cd "$(dirname "$0")/.." || exit 1

git ls-files 'src/*.c' 'src/*.h' | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
awk -F'[:"]' '
	BEGIN {
		may["base"] = ""
		may["model"] = "base"
		may["wire"] = ""
		may["unwind"] = "base"
		may["symbol"] = "base model"
		may["perf"] = "base model unwind"
		may["format"] = "base model perf"
		may["preload"] = "wire unwind"
		may["stage"] = "wire auger"
		may["collect"] = "base model wire perf symbol"
		may["view"] = "base model"
		may["ctlfs"] = "base model collect format"
		may["cluster"] = "base"
		may["cachefs"] = "base model cluster view"
		may["relocate"] = "base"
		may["cli"] = "base model wire unwind symbol perf format collect view" \
			" ctlfs cluster cachefs relocate"
	}
	{
		split($1, path, "/")
		from = path[2]
		to = $4
		if (to !~ /\//) {
			reason = "include \"" to "\" by its path from src/"
		} else {
			sub(/\/.*/, "", to)
			if (!(from in may))
				reason = from " is not in the list of folders in tools/check_layers.sh"
			else if (to != from && index(" " may[from] " ", " " to " ") == 0)
				reason = from " may not include " to
			else
				next
		}
		print $1 ":" $2 ": " reason
		bad = 1
	}
	END { exit bad }' >&2
