auger flame --min-percent 12 "$GOLDEN/stacks.folded" | grep -c '<g class'
