#!/bin/sh
# SPDX-License-Identifier: MIT
# make check-floor: auger and its libraries for the oldest systems that they are made for.
# Compiles with the kernel headers of Linux 5.10 and links for glibc 2.28, for x86-64 and aarch64,
# against the static libraries of Debian 12; holds the versions of all symbols against GLIBC_2.28;
# runs the unit tests of what this machine can run. TAP on stdout.
# tools/floor/toolchain.sh says what is fetched, and from where.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tools/floor/toolchain.sh
. tools/floor/toolchain.sh
number=0
failed=0
began=$(date +%s)

# result WORD NAME: one line of TAP.
result() {
	number=$((number + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $number - $2"
}

# Without the network there is nothing to check against: one line, and not a failure.
unavailable() {
	echo "1..0 # SKIP $1"
	exit 0
}

# run NAME COMMAND...: quiet when it succeeds.
run() {
	name=$1
	shift
	if "$@" >"$floor/log" 2>&1; then
		result ok "$name"
	else
		result 'not ok' "$name"
		tail -40 "$floor/log" | sed 's/^/# /'
		return 1
	fi
}

# build ARCH: false, when there is nothing to look at.
build() {
	dir=$floor/$1/build
	[ -f "$dir/build.ninja" ] || run "$1: configures" meson setup "$dir" --cross-file \
		"$floor/$1/build.ini" --libdir lib -Dprefer_static=true -Dbpf=enabled \
		-Dfuse=enabled -Dtop=enabled -Dpython=disabled -Dfortran=disabled -Ddocs=disabled ||
		return 1
	run "$1: links auger and its libraries" ninja -C "$dir" src/cli/auger \
		src/stage/libauger.so.0 src/stage/libauger.a src/preload/libauger-count.so \
		src/preload/heap/libauger-heap.so || return 1
	run "$1: no symbol is newer than GLIBC_$GLIBC" check_symbols "$dir/src"
}

fetch_all
for arch in x86_64 aarch64; do
	# What is run here is built without the functions of libfuse that have a substitute, too.
	[ $arch = "$here" ] && forced=", '-DAUGER_FORCE_COMPAT'" || forced=
	cross_file $arch build "$forced"
	build $arch
done
if [ -f "$floor/$here/build/build.ninja" ]; then
	run "$here: unit tests" meson test -C "$floor/$here/build" --suite unit --print-errorlogs
	run "$here: without system calls that are newer than Linux 5.0" \
		meson test -C "$floor/$here/build" old_kernel --print-errorlogs
fi
echo "1..$number"
echo "# check-floor: $failed failed ($(($(date +%s) - began)) s)"
[ "$failed" -eq 0 ]
