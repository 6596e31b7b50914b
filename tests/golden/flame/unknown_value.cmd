auger flame --value heap "$GOLDEN/stacks.folded"
