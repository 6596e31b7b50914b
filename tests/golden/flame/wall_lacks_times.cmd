cd "$GOLDEN"
auger flame --wall stacks.folded
