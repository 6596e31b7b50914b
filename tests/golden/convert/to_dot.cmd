# two functions of one name in two modules, recursion, a call through a function without a box, names that are no text of Graphviz
{
	echo 'main;read;parse 300'
	echo 'main;read;small;copy 60'
	echo 'main;fact;fact;fact 200'
	echo 'main;find("a\n&lt;", \N) 100'
	echo 'start 50'
	echo 'main;tiny 1'
} >in.folded
auger convert in.folded --to dot
auger convert in.folded --focus copy -o copy.gv
grep -c -- '->' copy.gv
echo 'main -5' >negative.folded
auger convert negative.folded --to dot
