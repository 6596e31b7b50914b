cp "$GOLDEN/../../fuzz/corpus/jitdump/functions" jit-7.dump
auger report "$GOLDEN/jitdump.heap" -f csv
auger convert "$GOLDEN/jitdump.heap" --to folded --jit
rm jit-7.dump
auger convert "$GOLDEN/jitdump.heap" --to folded --addrs
