auger flame --diff "$GOLDEN/stacks.folded"
