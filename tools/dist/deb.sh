#!/bin/sh
# SPDX-License-Identifier: MIT
# make deb: dist/*.deb from debian/, of the files that git knows, as they are in this folder. Fails on
# an error of lintian, or when what the packages install does not run from an empty folder. What
# failed stays in build-deb/.
# DEB_BUILD_OPTIONS=nocheck leaves the unit tests out.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD

unavailable() {
	echo "deb: $1" >&2
	exit 1
}

for program in dpkg-buildpackage dh dh_python3 lintian; do
	command -v $program >/dev/null || unavailable "$program is missing (packages/deb.txt)"
done
work=$top/build-deb
export TMPDIR="$work/tmp" # lintian leaves files there
{ rm -rf "$work" && mkdir -p "$work/auger" "$work/tmp"; } || exit 1
git ls-files -z | xargs -0 tar -c | tar -C "$work/auger" -x || exit 1

(cd "$work/auger" && dpkg-buildpackage -us -uc -b >"$work/log" 2>&1) || {
	tail -40 "$work/log" >&2
	unavailable "dpkg-buildpackage failed"
}
lintian --fail-on error --info --tag-display-limit 0 "$work"/*.changes || unavailable "lintian found errors"

# Without root or a chroot: the tests of the packages, with what was unpacked.
mkdir -p "$work/root"
for deb in "$work"/auger_*.deb "$work"/lib*.deb "$work"/python3-auger_*.deb; do
	dpkg-deb -x "$deb" "$work/root" || exit 1
done
libdir=$(dirname "$(find "$work/root" -name libauger.so)")
export PKG_CONFIG_SYSROOT_DIR="$work/root" PKG_CONFIG_PATH="$libdir/pkgconfig" \
	LD_LIBRARY_PATH="$libdir" PYTHONPATH="$work/root/usr/lib/python3/dist-packages" \
	PATH="$work/root/usr/bin:$PATH"
for test in tour library python; do
	(cd "$work/auger" && sh "debian/tests/$test" >"$work/log" 2>&1) || {
		cat "$work/log" >&2
		unavailable "debian/tests/$test failed"
	}
done
mkdir -p dist
for deb in "$work"/*.deb; do
	name=dist/$(basename "$deb")
	mv "$deb" "$name" && echo "$name: $(stat -c %s "$name") bytes"
done
rm -rf "$work"
