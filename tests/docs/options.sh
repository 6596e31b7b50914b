#!/bin/sh
# SPDX-License-Identifier: MIT
# options.sh TOOL DOCS: man pages and option tables have the same commands and options, and one letter
# is one option in every command.
set -u
tool=$1
docs=$2

# Long names that the page explains: lines that begin with an option in bold.
explained() {
	grep -E '^\*-' "$1" | grep -oE -e '--[a-z][a-z0-9-]*' | sort -u
}

letters='-F --frequency
-a --all
-b --budget
-c --period
-d --duration
-e --event
-f --format
-g --stack
-h --help
-j --job-dir
-n --rows
-o --output
-p --pid
-r --runs
-t --target
-v --verbose
-z --lazy'

# other_letters COMMAND: letters of its table that mean something else, and options that lack theirs.
other_letters() {
	"$tool" "$1" --complete | sed 's/=.*//' | sort -u >"$table"
	grep -E '^-. ' "$table" | grep -vxF -e "$letters" | sed "s/^/$1: not what the letter means elsewhere: /"
	for name in --duration --format --output --rows --runs; do
		grep -qxe "$name" "$table" && echo "$1: $name has no letter"
	done
	grep -qxe '-v --verbose' "$table" || echo "$1: no -v"
}

# complaints COMMAND: what is wrong with its table and its page.
complaints() {
	[ "$1" = cache ] || other_letters "$1"
	page=$docs/auger-$1.1.scd
	if [ ! -f "$page" ]; then
		echo "$page: missing"
		return
	fi
	grep -q "'auger-$1\.1'" "$docs/meson.build" || echo "$docs/meson.build: does not build auger-$1.1"
	grep -q "^\*$1\*" "$docs/auger.1.scd" || echo "$docs/auger.1.scd: does not list $1"
	grep -q '^# EXAMPLES' "$page" || echo "$page: no examples"
	"$tool" "$1" --complete | grep -oE -e '--[a-z0-9-]+' | sort -u >"$table"
	explained "$page" | grep -vx -e --help | comm -23 - "$table" |
		sed "s,^,$page: explains an option that 'auger $1' does not have: ,"
	explained "$page" | comm -13 - "$table" | grep -vx -e --help | sed "s,^,$page: does not explain ,"
}

table=$(mktemp) || exit 1
trap 'rm -f "$table"' EXIT
count=0
bad=0
for command in $("$tool" --complete | cut -f 1); do
	count=$((count + 1))
	wrong=$(complaints "$command")
	if [ -z "$wrong" ]; then
		echo "ok $count - $command"
	else
		echo "not ok $count - $command"
		echo "$wrong" >&2
		bad=1
	fi
done
echo "1..$count"
exit $bad
