#!/bin/sh
# SPDX-License-Identifier: MIT
# check_abi.sh [--accept]: libauger offers what tools/libauger.abi records, in the same way; --accept
# records it anew. The record is of x86-64; on other machines nothing is checked.
set -u
cd "$(dirname "$0")/.." || exit 1
[ "$(uname -m)" = x86_64 ] || exit 0
record=tools/libauger.abi
ignored=tools/libauger.abignore

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# A library of its own: that of build/ has no types in its debug information, or those of a sanitizer.
cc -g -fPIC -shared -std=gnu11 -D_GNU_SOURCE '-DAUGER_VERSION="0"' -fvisibility=hidden -Isrc -Iinclude \
	-Wl,-soname,libauger.so.0 -Wl,--version-script=src/stage/libauger.map \
	-o "$work/libauger.so.0" src/stage/*.c -pthread -ldl || exit 1
abidw --suppressions $ignored --no-corpus-path --no-comp-dir-path --no-elf-needed --no-show-locs \
	--no-architecture --out-file "$work/now.abi" "$work/libauger.so.0" || exit 1

if [ "${1:-}" = --accept ]; then
	mv "$work/now.abi" $record
	exit
fi
abidiff --no-show-locs --no-corpus-path $record "$work/now.abi" >"$work/differences" && exit 0
cat "$work/differences" >&2
echo "$record:1: libauger differs; when old programs still work, tools/check_abi.sh --accept" >&2
exit 1
