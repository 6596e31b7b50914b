mkdir runs
printf 'main;work 30\nno number\n' >runs/1.folded
printf 'main;work 10\nmain;idle 60\n' >runs/2.folded
auger convert runs runs/2.folded --to folded 2>/dev/null
auger convert runs -o runs/all.folded 2>/dev/null
cat runs/all.folded
auger convert runs runs/2.folded --to folded --strict
