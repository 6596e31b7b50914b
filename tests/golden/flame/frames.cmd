auger flame "$GOLDEN/stacks.folded" | awk '/id="frames"/, /^<\/g>/'
