script -qec "auger flame '$GOLDEN/stacks.folded'" /dev/null | tr -d '\r'
