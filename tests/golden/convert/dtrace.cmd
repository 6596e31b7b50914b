auger convert -v "$GOLDEN/dtrace.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/dtrace.txt" --stackcollapse
