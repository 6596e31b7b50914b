# Several files and folders are one profile.
mkdir runs
printf 'main;work 30\n' >runs/1.folded
printf 'main;work 10\nmain;idle 60\n' >runs/2.folded
printf 'main;idle 5\n' >x.folded
auger report runs
printf 'main;idle 5\n' | auger report x.folded - runs x.folded
for i in 1 2 3 4 5 6; do set -- "$@" x.folded; done
auger report "$@" -f json
# The threads of each are kept.
auger report "$GOLDEN/demo.pb.gz" "$GOLDEN/demo.pb.gz" --by comm -f csv
auger report "$GOLDEN/demo.pb.gz" --by comm -f csv
cp "$GOLDEN/demo.pb.gz" . && auger report x.folded demo.pb.gz
