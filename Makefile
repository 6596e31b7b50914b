# SPDX-License-Identifier: MIT
# The front door; Meson does the building. `make demo` and `make check` need nothing installed:
# they fetch the Debian packages of packages/*.txt that are missing.
.POSIX:
.PHONY: all packages test-packages demo test check check-floor dist-portable deb fuzz-long faults killtest soak lint bench install clean

all: build/build.ninja
	@ninja -C build

# What is optional only leaves a feature out; Meson says which.
build/build.ninja:
	@missing=$$(tools/install_packages.sh --missing build); \
	[ -z "$$missing" ] || \
		echo "make: not installed:$$missing; 'make packages' installs them" >&2
	@command -v meson >/dev/null || { echo "make: meson is missing" >&2; exit 1; }
	@meson setup build
	@ln -sf build/compile_commands.json .

packages:
	@tools/install_packages.sh build

# Where they cannot be installed, tests that need them are skipped.
test-packages:
	@tools/install_packages.sh build demo test || \
		[ -z "$$(tools/install_packages.sh --missing build)" ]

demo:
	@tools/install_packages.sh build demo
	@$(MAKE) --no-print-directory build/build.ninja
	@ninja -C build all examples/matrices/matrices
	@tools/demo.sh

# Under two minutes; T=NAME runs one test, T=CMD/NAME one case of tests/golden.
test: build/build.ninja
	@tools/test.sh $(T)

check: test-packages
	@tools/check.sh

dist-portable:
	@tools/dist/portable.sh

deb:
	@tools/dist/deb.sh

check-floor:
	@tools/floor/check.sh

# SIGKILL at 200 random moments of every recorder and writer, and of relocate: about half an hour.
killtest: all
	@tests/killtest/killtest.py build/src/cli/auger 200
	@ninja -C build tests/relocate/relocate_job
	@RELOCATE_KILLS=200 tests/relocate/cases.py build/src/cli/auger build/tests/relocate 'all and ends at random'

# The cache under the thread sanitizer: three runs, each of SOAK operations or seconds.
SOAK = 100000000 600
soak: test-packages
	@[ -f build-tsan/build.ninja ] || meson setup build-tsan --native-file build-dev.ini -Db_sanitize=thread
	@ninja -C build-tsan src/cli/auger
	@tests/cache/soak.py build-tsan/src/cli/auger $(SOAK)

# Counted on from run to run, until 10^8 executions; FUZZ="--minutes 60 TARGET" bounds or chooses.
fuzz-long: test-packages
	@[ -f build-asan/build.ninja ] || \
		CC=clang CXX=clang++ meson setup build-asan --native-file build-dev.ini -Dfuzz=true
	@tools/fuzz_long.py build-asan $(FUZZ)

# Each system call of the commands fails once at each call site; FAULTS="--only record" chooses.
faults: test-packages
	@$(MAKE) --no-print-directory build/build.ninja
	@ninja -C build src/cli/auger tests/faults/failing_call tests/faults/spin
	@tests/faults/faults.py $(FAULTS) build/src/cli/auger build

lint: test-packages
	@$(MAKE) --no-print-directory all
	@tools/lint.sh

bench: test-packages
	@$(MAKE) --no-print-directory build/build.ninja
	@tools/bench.py build

install: all
	@meson install -C build --no-rebuild

clean:
	rm -rf build build-asan build-tsan compile_commands.json
