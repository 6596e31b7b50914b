cd "$GOLDEN"
auger flame --diff stacks.folded after.folded | awk '/id="frames"/, /^<\/g>/; /id="head"/, /^<\/g>/'
