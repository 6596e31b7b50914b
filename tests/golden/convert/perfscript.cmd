auger convert "$GOLDEN/stacks.script" --to folded
auger convert "$GOLDEN/stacks.script" --to folded --value faults 2>&1
auger convert "$GOLDEN/stacks.script" -o x.pb.gz 2>/dev/null && auger convert x.pb.gz --to folded --value samples
