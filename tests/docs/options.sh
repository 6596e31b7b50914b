#!/bin/sh
# SPDX-License-Identifier: MIT
# options.sh TOOL DOCS: the man pages and the option tables tell of the same commands and options.
set -u
tool=$1
docs=$2

# Long names that the page explains: lines that begin with an option in bold.
explained() {
	grep -E '^\*-' "$1" | grep -oE -e '--[a-z][a-z0-9-]*' | sort -u
}

# complaints COMMAND: what is wrong with its page.
complaints() {
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
	explained "$page" | comm -13 - "$table" | sed "s,^,$page: does not explain ,"
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
