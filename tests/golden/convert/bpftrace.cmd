auger convert -v "$GOLDEN/bpftrace.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/bpftrace.txt" --stackcollapse
