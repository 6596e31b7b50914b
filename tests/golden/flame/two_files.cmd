auger flame "$GOLDEN/stacks.folded" "$GOLDEN/after.folded"
