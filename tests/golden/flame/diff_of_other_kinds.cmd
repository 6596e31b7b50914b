printf 'a 1.5\n' >b.folded
auger flame --diff "$GOLDEN/stacks.folded" b.folded
