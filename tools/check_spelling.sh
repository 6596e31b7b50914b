#!/bin/sh
# SPDX-License-Identifier: MIT
# codespell over what is written for people; words that are right are in tools/spelling_ignore.txt.
set -u
cd "$(dirname "$0")/.." || exit 1
git ls-files -- '*.md' '*.scd' '*.c' '*.h' '*.sh' '*.py' '*.js' '*.html' '*.build' |
	grep -v '^tests/.*/corpus/' |
	xargs -r codespell --ignore-words tools/spelling_ignore.txt >&2
