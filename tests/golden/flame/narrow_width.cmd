auger flame --width 10 "$GOLDEN/stacks.folded"
