auger convert "$GOLDEN/stacks.script" --to folded --all 2>/dev/null
auger convert "$GOLDEN/stacks.script" --to folded --tid --kernel 2>/dev/null
auger convert "$GOLDEN/stacks.script" --to folded --pid --event-filter faults 2>/dev/null
auger convert "$GOLDEN/stacks.script" --to folded --event-filter cycles:ppp 2>/dev/null
auger convert "$GOLDEN/stacks.script" --to folded --event-filter none 2>&1 | tail -n 1
auger convert "$GOLDEN/stacks.script" -o x.pb.gz --pid
