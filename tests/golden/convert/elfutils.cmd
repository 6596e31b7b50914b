auger convert -v "$GOLDEN/elfutils.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/elfutils.txt" --stackcollapse
