# Two files are one picture, but with --diff.
svg() { auger flame "$@" 2>/dev/null | grep -oE '<title>(all|sum of|from).*|^total [0-9]+ samples .*100.00 %|^change.*' | head -n 4; }
mkdir runs
cp "$GOLDEN/stacks.folded" runs/1.folded
cp "$GOLDEN/after.folded" runs/2.folded
svg runs/1.folded
svg runs/1.folded runs/2.folded
svg runs
svg --diff runs runs/1.folded
