# A folder is one run: its sum.
mkdir runs
printf 'main;work 30\n' >runs/1.folded
printf 'main;work 10\nmain;idle 60\n' >runs/2.folded
printf 'main;work 55\nmain;idle 60\n' >one.folded
auger diff runs one.folded -f csv | cut -d, -f1-3
