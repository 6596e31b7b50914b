auger convert -v "$GOLDEN/systemtap.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/systemtap.txt" --stackcollapse
