# The types must agree, and nothing is written when a file fails.
printf 'a 1\n' >one.folded
printf 'a 1 2\n' >two.folded
printf 'a 1.5\n' >half.folded
echo keep >out.folded
try() {
	auger merge "$@" -o out.folded
	echo "$? $(cat out.folded)"
}
try one.folded two.folded
try two.folded one.folded
try one.folded half.folded
try one.folded missing.folded
try one.folded --label =x
try
