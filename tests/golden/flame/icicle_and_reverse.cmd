auger flame --icicle --reverse --width 400 "$GOLDEN/stacks.folded" | awk '/id="frames"/, /^<\/g>/'
