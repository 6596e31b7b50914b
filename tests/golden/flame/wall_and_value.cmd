auger flame --wall --value cpu "$GOLDEN/stacks.folded"
