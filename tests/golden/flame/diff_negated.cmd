cd "$GOLDEN"
auger flame --diff --negate --absolute stacks.folded after.folded |
	awk '/id="frames"/, /^<\/g>/; /id="head"/, /^<\/g>/'
