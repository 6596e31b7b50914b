#!/bin/sh
# SPDX-License-Identifier: MIT
# The public headers are C99 to C23 and C++11 to C++23, each by itself and without a warning.
set -u
cd "$(dirname "$0")/.." || exit 1

# compiles HEADER LANGUAGE STANDARD COMPILER
compiles() {
	echo "#include <auger/$1>" | "$4" -x "$2" "-std=$3" -Iinclude -Wall -Wextra -pedantic -Werror \
		-fsyntax-only - >&2 && return
	echo "include/auger/$1:1: does not compile by $4 -std=$3" >&2
	bad=1
}

bad=0
for header in stage.h heap.h; do
	for standard in c99 c11 c17 c2x; do
		compiles $header c $standard gcc
		compiles $header c $standard clang
	done
done
for header in stage.h stage.hpp heap.h; do
	for standard in c++11 c++14 c++17 c++20 c++2b; do
		compiles $header c++ $standard g++
		compiles $header c++ $standard clang++
	done
done
exit $bad
