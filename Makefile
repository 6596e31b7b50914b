# SPDX-License-Identifier: MIT
# The front door; Meson does the building. `make demo` and `make check` need nothing installed:
# they fetch the Debian packages of packages.txt that are missing.
.POSIX:
.PHONY: all packages demo check lint bench install clean

all: build/build.ninja
	@ninja -C build

build/build.ninja:
	@command -v meson >/dev/null || { \
		echo "make: meson is missing; 'make packages' installs what packages.txt lists" >&2; \
		exit 1; }
	@meson setup build

packages:
	@tools/install_packages.sh

demo: packages
	@$(MAKE) --no-print-directory all
	@tools/demo.sh

check: packages
	@tools/check.sh

lint: packages
	@$(MAKE) --no-print-directory all
	@tools/lint.sh

bench: packages
	@$(MAKE) --no-print-directory all
	@meson test -C build --benchmark --verbose --num-processes 1

install: all
	@meson install -C build --no-rebuild

clean:
	rm -rf build build-asan build-tsan build-fuzz
