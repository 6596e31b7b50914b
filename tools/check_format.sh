#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C file is as clang-format makes it; `git ls-files '*.[ch]' | xargs clang-format -i` mends it.
set -u
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.c' '*.h' | xargs -r clang-format --dry-run --Werror
