#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs shellcheck over every file that starts with a shell's "#!" line, and over *.bash. Programs in
# single quotes (SC2016) are meant so; functions may be called by name from others (SC2317).
set -u
cd "$(dirname "$0")/.." || exit 1
{
	git ls-files '*.bash'
	git grep -lIE '^#!.*\b(ba|da)?sh\b' | while read -r file; do
		head -n 1 "$file" | grep -qE '^#!.*\b(ba|da)?sh\b' && echo "$file"
	done
} | xargs -r shellcheck -x -f gcc -e SC2016,SC2317 >&2
