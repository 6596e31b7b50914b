#!/bin/sh
# SPDX-License-Identifier: MIT
# make dist-portable: dist/auger-VERSION-ARCH.tar.zst for x86-64 and aarch64: the program, libraries,
# headers, man pages and completion, for glibc 2.28 and Linux 4.18, to be unpacked and run in any
# folder. ARCH=x86_64 makes one of them.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tools/floor/toolchain.sh
. tools/floor/toolchain.sh
: "${ARCH:=x86_64 aarch64}"
MOST_BYTES=3145728

# unavailable WHY: also what else ends it.
unavailable() {
	echo "dist-portable: $1" >&2
	exit 1
}

# run COMMAND...: quiet when it succeeds.
run() {
	"$@" >"$floor/log" 2>&1 || {
		tail -40 "$floor/log" >&2
		unavailable "$* failed"
	}
}

# No file has the path of this folder.
build() {
	dir=$floor/$1/release
	cross_file "$1" release ", '-ffile-prefix-map=$PWD=.', '-ffile-prefix-map=../../..=.'"
	[ -f "$dir/build.ninja" ] || run meson setup "$dir" --cross-file "$floor/$1/release.ini" \
		--prefix / --libdir lib -Dprefer_static=true -Dbpf=enabled -Dfuse=enabled \
		-Dtop=enabled -Doverlay=enabled -Ddocs=enabled -Dpython=disabled -Dfortran=disabled
	run ninja -C "$dir"
	rm -rf "$floor/$1/tree"
	run meson install -C "$dir" --no-rebuild --destdir "$floor/$1/tree/$2"
	strip=$(tool "$1" strip)
	find "$floor/$1/tree" -type f \( -name auger -path '*/bin/*' -o -name 'lib*.so*' \) \
		-exec "$strip" --strip-unneeded {} +
	check_symbols "$floor/$1/tree" || unavailable "$1: a symbol is newer than GLIBC_$GLIBC"
}

fetch_all
need tar zstd scdoc
version=$(sed -n "s/.*version: '\([0-9.]*\)'.*/\1/p" meson.build | head -n 1)
[ -n "$version" ] || unavailable "meson.build names no version"
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date -r meson.build +%s)}"
mkdir -p dist
for arch in $ARCH; do
	name=auger-$version-$arch
	build "$arch" "$name"
	tar -C "$floor/$arch/tree" --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w,a+rX \
		--mtime="@$SOURCE_DATE_EPOCH" -c "$name" | zstd -19 -q -f -o "dist/$name.tar.zst" ||
		unavailable "dist/$name.tar.zst cannot be written"
	bytes=$(stat -c %s "dist/$name.tar.zst")
	[ "$bytes" -le $MOST_BYTES ] || unavailable "dist/$name.tar.zst has $bytes bytes, more than $MOST_BYTES"
	echo "dist/$name.tar.zst: $bytes bytes"
done
