#!/bin/sh
# SPDX-License-Identifier: MIT
# fuzzer.sh TARGET ARG...: a target with libFuzzer, as `make check` and `make fuzz-long` run it: with its
# words, dict/NAME, where there are some (a peer of NAME has the same).
program=$1
shift
name=${program##*/fuzz_}
words=$(dirname "$0")/dict/${name%_peer}
[ ! -f "$words" ] || set -- "-dict=$words" "$@"
case $name in # seeds are real files; what is new does not need as much
circle | folded | perfscript | pprof | stackcollapse | view) set -- -max_len=1000 "$@" ;;
esac
# Of what inputs allocate and free little is kept back, so what they touch stays in the caches. A finding is
# run again for the whole stack of an allocation. Entropic's bookkeeping costs a third of the time.
ASAN_OPTIONS=quarantine_size_mb=4:thread_local_quarantine_size_kb=64
ASAN_OPTIONS=$ASAN_OPTIONS:allocator_release_to_os_interval_ms=-1:malloc_context_size=1
export ASAN_OPTIONS
exec "$program" -entropic=0 -rss_limit_mb=2048 -close_fd_mask=1 -reload=0 "$@"
