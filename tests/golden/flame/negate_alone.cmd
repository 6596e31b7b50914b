auger flame --negate "$GOLDEN/stacks.folded"
