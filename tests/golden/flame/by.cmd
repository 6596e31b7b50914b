# a root for each value; a label that is not there
auger merge --label 'rank={n}' "$GOLDEN/stacks.folded" "$GOLDEN/after.folded" -o two.pb.gz
auger flame --by rank two.pb.gz | grep -oE '<title>[01]$'
auger flame --by host -o f.svg two.pb.gz
