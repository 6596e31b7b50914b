auger convert "$GOLDEN/wcp.txt" --to folded
auger convert "$GOLDEN/wcp.txt" --stackcollapse
