cd "$GOLDEN"
auger flame --diff --normalize total stacks.folded after.folded | awk '/id="frames"/, /^<\/g>/; /id="head"/, /^<\/g>/'
