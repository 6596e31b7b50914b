#!/bin/sh
# SPDX-License-Identifier: MIT
# aarch64.sh SOURCE: the test of trampolines, compiled for aarch64 and run by qemu-user. TAP on
# stdout.
set -eu
for program in aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $program >/dev/null || {
		echo "1..0 # SKIP $program is missing (packages/test.txt)"
		exit 0
	}
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$1"
aarch64-linux-gnu-gcc -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -Isrc -static -o "$out/test" \
	tests/unit/test_trampoline.c src/inject/arch_aarch64.c
qemu-aarch64 "$out/test"
