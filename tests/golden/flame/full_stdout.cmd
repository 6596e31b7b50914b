auger flame "$GOLDEN/stacks.folded" >/dev/full
