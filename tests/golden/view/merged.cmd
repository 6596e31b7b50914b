stacks=$GOLDEN/../flame/stacks.folded
auger view "$stacks" "$stacks" "$stacks" --title three 2>err | grep -oE '<title>.*</title>|<td>[0-9]+</td><td>[0-9.]+%</td><td>300</td>'
auger view "$stacks" "$GOLDEN/../flame/after.folded" --merge -o two.html 2>&1 | sed "s,[0-9.]* KiB,N KiB,"
auger view "$stacks" "$GOLDEN/../flame/after.folded" -o change.html 2>&1 | sed "s,[0-9.]* KiB,N KiB,"
ls
