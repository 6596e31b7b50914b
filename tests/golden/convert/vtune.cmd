auger convert "$GOLDEN/vtune.txt" --to folded
auger convert "$GOLDEN/vtune.txt" --stackcollapse
auger convert "$GOLDEN/vtune_new.txt" --to folded
