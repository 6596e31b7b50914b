#!/bin/sh
# SPDX-License-Identifier: MIT
# cppcheck finds nothing in src.
set -u
cd "$(dirname "$0")/.." || exit 1

# It does not know the cleanup attribute and so sees leaks; the sanitizer build looks for those. It
# calls "if (x) return x;" a condition that is always true. readdir() of a folder of its own is fine in threads (POSIX 2024).
# Of BPF programs it does not know the macros of libbpf; those the kernel's verifier reads.
cppcheck --quiet --error-exitcode=1 --inline-suppr -j 2 \
	--enable=warning,performance,portability --suppress=memleak --suppress=resourceLeak \
	--suppress=identicalInnerCondition --suppress=readdirCalled \
	--std=c11 --library=gnu --library=posix -D_GNU_SOURCE '-DAUGER_VERSION="0"' -Isrc -isrc/bpf \
	--template='{file}:{line}: {message} [{id}]' src
