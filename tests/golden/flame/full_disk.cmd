auger flame "$GOLDEN/stacks.folded" -o /dev/full
