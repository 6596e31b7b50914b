#!/bin/sh
# SPDX-License-Identifier: MIT
# options.sh TOOL DOCS: man pages and option tables have the same commands and options, and one letter
# is one option in every command.
set -u
tool=$1
docs=$2

# Long names that the page explains: lines that begin with an option in bold. "All options of
# *PAGE*(1) except *--NAME*, *--NAME*" stands for those of another page.
explained() {
	{
		grep -E '^\*-' "$1" | grep -oE -e '--[a-z][a-z0-9-]*'
		sed -n 's/^All options of \*\([a-z-]*\)\*(1) except \(\*--.*\)/\1 \2/p' "$1" |
			while read -r other but; do
				echo "$but" | grep -oE -e '--[a-z][a-z0-9-]*' >"$excepted"
				grep -E '^\*-' "$docs/$other.1.scd" | grep -oE -e '--[a-z][a-z0-9-]*' | grep -vxF -f "$excepted"
			done
	} | sort -u
}

letters='-F --frequency
-P --trace-path
-a --all
-b --budget
-c --period
-d --duration
-e --event
-f --format
-g --stack
-h --help
-j --job-dir
-k --stack-trace
-n --rows
-o --output
-p --pid
-r --runs
-t --target
-v --verbose
-z --lazy'

# other_letters COMMAND...: letters of its table that mean something else, and options that lack theirs.
other_letters() {
	"$tool" "$@" --complete | sed 's/=.*//' | sort -u >"$table"
	grep -E '^-. ' "$table" | grep -vxF -e "$letters" | sed "s/^/$*: not what the letter means elsewhere: /"
	for name in --duration --format --output --rows --runs; do
		grep -qxe "$name" "$table" && echo "$*: $name has no letter"
	done
	grep -qxe '-v --verbose' "$table" || echo "$*: no -v"
}

# complaints COMMAND [VERB]: what is wrong with its table and its page.
complaints() {
	other_letters "$@"
	name=$(echo "auger $*" | tr ' ' -)
	page=$docs/$name.1.scd
	if [ ! -f "$page" ]; then
		echo "$page: missing"
		return
	fi
	grep -qF "($name.1.scd)" "$docs/README.md" || echo "$docs/README.md: does not list $name.1"
	grep -q "'$name\.1'" "$docs/meson.build" || echo "$docs/meson.build: does not build $name.1"
	if [ $# -eq 1 ]; then
		grep -q "^\*$1\*" "$docs/auger.1.scd" || echo "$docs/auger.1.scd: does not list $1"
		grep -qF "*$name*(1)" "$docs/auger.1.scd" || echo "$docs/auger.1.scd: SEE ALSO lacks $name"
	else
		grep -q "^\*auger $*\*" "$docs/auger-$1.1.scd" || echo "$docs/auger-$1.1.scd: does not list $2"
	fi
	grep -q '^# EXAMPLES' "$page" || echo "$page: no examples"
	"$tool" "$@" --complete | grep -oE -e '--[a-z0-9-]+' | sort -u >"$table"
	explained "$page" | grep -vx -e --help | comm -23 - "$table" |
		sed "s,^,$page: explains an option that 'auger $*' does not have: ,"
	explained "$page" | comm -13 - "$table" | grep -vx -e --help | sed "s,^,$page: does not explain ,"
}

table=$(mktemp) || exit 1
excepted=$(mktemp) || exit 1
trap 'rm -f "$table" "$excepted"' EXIT
count=0
bad=0
# check COMMAND [VERB]
check() {
	count=$((count + 1))
	wrong=$(complaints "$@")
	if [ -z "$wrong" ]; then
		echo "ok $count - $*"
	else
		echo "not ok $count - $*"
		echo "$wrong" >&2
		bad=1
	fi
}

for command in $("$tool" --complete | cut -f 1); do
	check "$command"
	for verb in $("$tool" "$command" --complete | grep -v '^-' | cut -f 1); do
		check "$command" "$verb"
	done
done
echo "1..$count"
exit $bad
