auger convert "$GOLDEN/ljp.txt" --to folded
auger convert "$GOLDEN/ljp.txt" --stackcollapse
