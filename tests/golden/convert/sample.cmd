auger convert -v "$GOLDEN/sample.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/sample.txt" --stackcollapse
