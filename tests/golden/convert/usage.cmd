printf 'a 1\n' >in.folded
auger convert in.folded
echo $?
auger convert in.folded -o out.txt
echo $?
auger convert in.folded --to nonsense
echo $?
auger convert in.folded in.folded --stackcollapse
echo $?
ls
