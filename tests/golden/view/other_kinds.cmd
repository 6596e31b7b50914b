auger view -o page.html "$GOLDEN/../flame/stacks.folded" "$GOLDEN/../../fuzz/corpus/pprof/go_heap.pb.gz"
