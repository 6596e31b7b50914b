#!/bin/sh
# SPDX-License-Identifier: MIT
# make_archive.sh LD OBJCOPY AR IN OUT: one object whose only names for others are the exported
# ones, so that a program may have functions that are called as those inside of the library.
set -eu
ld=$1 objcopy=$2 ar=$3 in=$4 out=$5
object=$out.o
trap 'rm -f "$object"' EXIT

"$ld" -r -o "$object" --whole-archive "$in"
"$objcopy" --localize-hidden "$object"
rm -f "$out"
"$ar" rcs "$out" "$object"
