name=$(printf "%0300d" 0)
printf "main;$name 5\nmain;short 3\n" | auger report -
i=0 stack=leaf
while [ $i -lt 150 ]; do
	echo "$stack 1"
	stack="f;$stack"
	i=$((i + 1))
done | auger report --tree -n 0 --min-percent 0 - | sed -n "60,61p;160,161p"
