stacks=$GOLDEN/../flame/stacks.folded
auger view -o page.pb.gz "$stacks"
echo $?
cp "$stacks" a.folded
ln a.folded a.html
auger view -o a.html a.folded
echo $?
auger view --open -o - "$stacks"
echo $?
auger view --merge "$stacks"
echo $?
auger view --normalize total -o page.html "$stacks"
echo $?
auger view --value none -o page.html "$stacks"
echo $?
auger view -o none/page.html "$stacks"
echo $?
ls
