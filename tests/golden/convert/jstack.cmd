auger convert -v "$GOLDEN/jstack.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/jstack.txt" --stackcollapse
auger convert "$GOLDEN/jstack.txt" --to folded --value waiting
