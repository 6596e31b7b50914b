#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD: installs into an empty folder; everything is there and works from there.
# shellcheck disable=SC2317 # check calls the functions
set -u
build=$1
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
count=0
bad=0

# check NAME COMMAND...: one TAP line.
check() {
	count=$((count + 1))
	name=$1
	shift
	if "$@" >"$root/words" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		cat "$root/words" >&2
		bad=1
	fi
}

# one NAME: the only installed file with this path ending.
one() {
	found=$(find "$root/tree" -path "*/$1")
	[ -f "$found" ] || echo "$1: '$found'"
	[ -f "$found" ]
}

has_pages() {
	for command in $("$auger" --complete | cut -f 1); do
		one "man1/auger-$command.1" || return 1
	done
	one man1/auger.1
}

# The version stands in one place.
has_one_version() {
	package=$(dirname "$(find "$root/tree" -name auger.pc)")
	[ "auger $(PKG_CONFIG_PATH=$package pkg-config --modversion auger)" = "$("$auger" --version)" ]
}

# The package for Python, as an installation that was moved finds it.
has_package() {
	one auger/_stages.abi3.so || return 1
	folder=$(find "$root/tree" -name _stages.abi3.so)
	library=$(find "$root/tree" -name libauger.so)
	LD_LIBRARY_PATH=$(dirname "$library") PYTHONPATH=${folder%/auger/*} /usr/bin/python3 -B -c '
import auger
with auger.StageProfiler(out="") as prof, prof.stage("outer"), prof.stage("inner"):
    pass
labels = [row["stage"] for row in prof.report()["stages"]]
assert labels == ["outer", "outer.inner"], labels'
}

# The folder of the libraries, and what a package needs to be compiled and linked with from there.
libdir() {
	dirname "$(find "$root/tree" -name libauger.so)"
}

flags() {
	PKG_CONFIG_SYSROOT_DIR=$root/tree PKG_CONFIG_PATH=$(libdir)/pkgconfig pkg-config --cflags --libs "$1"
}

# builds COMPILER EXAMPLE PACKAGE: an example is built as its text says, and runs.
builds() {
	source=$(find "$root/tree" -name "$2")
	# shellcheck disable=SC2046 # words
	"$1" -o "$root/$2.out" "$source" $(flags "$3") &&
		LD_LIBRARY_PATH=$(libdir) "$root/$2.out" >"$root/$2.json" &&
		grep -q '"stages":\[{' "$root/$2.json"
}

# The archive is all that a program needs.
builds_static() {
	source=$(find "$root/tree" -name pipeline.c)
	cc -static -I"$(dirname "$(dirname "$(find "$root/tree" -name stage.h)")")" -o "$root/static" "$source" \
		"$(libdir)/libauger.a" -pthread && "$root/static" >"$root/static.json" &&
		grep -q '"stages":\[{' "$root/static.json"
}

# What is preloaded is in a folder of its own, and found from where the program was moved to.
has_preloaded() {
	"$auger" heap -o "$root/heap.pb.gz" -- true 2>"$root/heap" && [ -s "$root/heap.pb.gz" ] &&
		[ -e "$root/tree$(PKG_CONFIG_PATH=$(libdir)/pkgconfig pkg-config --variable=count auger)" ]
}

check "meson install" meson install -C "$build" --no-rebuild --destdir "$root/tree"
auger=$(find "$root/tree" -path '*/bin/auger')
check "auger --version" "$auger" --version
check "pkg-config knows the version" has_one_version
check "bash completion" one bash-completion/completions/auger
check "fish completion" one fish/vendor_completions.d/auger.fish
check "zsh completion" one zsh/site-functions/_auger
check "licence" one doc/auger/LICENSE
if [ -e "$build/python/auger/_stages.abi3.so" ]; then
	check "python package" has_package
fi
if ! grep -q -- -fsanitize "$build/build.ninja"; then
	check "libraries that are preloaded" has_preloaded
	check "a C program by pkg-config" builds cc pipeline.c auger
	check "a C++ program by pkg-config" builds c++ threads.cpp auger
	check "a program that is static" builds_static
	if command -v gfortran >/dev/null; then
		check "a Fortran program by pkg-config" builds gfortran heat.f90 auger_fortran
	fi
fi
if [ -e "$build/docs/auger.1" ]; then
	check "a man page for each command" has_pages
fi
echo "1..$count"
exit $bad
