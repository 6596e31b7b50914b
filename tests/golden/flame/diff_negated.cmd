cd "$GOLDEN"
auger flame --diff --negate stacks.folded after.folded |
	awk '/id="frames"/, /^<\/g>/; /id="head"/, /^<\/g>/'
