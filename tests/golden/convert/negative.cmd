# What each format makes of a negative value.
printf 'a;b -1\na 2\n' >in.folded
for format in folded gperftools speedscope firefox callgrind; do
	auger convert in.folded --to $format -o out && grep -ac 'b' out
	echo $?
done
