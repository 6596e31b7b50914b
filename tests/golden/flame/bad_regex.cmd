auger flame --focus '(' "$GOLDEN/stacks.folded"
