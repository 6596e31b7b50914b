auger convert -v "$GOLDEN/bcc.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/bcc_waits.txt" --to folded
auger convert "$GOLDEN/bcc_waits.txt" -o waits.pb.gz && auger report waits.pb.gz
