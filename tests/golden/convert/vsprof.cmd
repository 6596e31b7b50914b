auger convert "$GOLDEN/vsprof.txt" --to folded
auger convert "$GOLDEN/vsprof.txt" --stackcollapse
