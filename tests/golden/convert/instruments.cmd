auger convert -v "$GOLDEN/instruments.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/instruments.txt" --stackcollapse
