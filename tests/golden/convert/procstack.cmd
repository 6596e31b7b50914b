auger convert "$GOLDEN/procstack.txt" --to folded
auger convert "$GOLDEN/procstack.txt" --stackcollapse
