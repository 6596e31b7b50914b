auger convert -v "$GOLDEN/pmcstat.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/pmcstat.txt" --stackcollapse
