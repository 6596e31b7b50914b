auger convert -v "$GOLDEN/faulthandler.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/faulthandler.txt" --stackcollapse
auger convert "$GOLDEN/faulthandler.txt" -o x.pb.gz && auger report x.pb.gz --by line
