# What is no job's number is a file's name.
cp "$GOLDEN/sacct.txt" 2024.txt
cp "$GOLDEN/sacct.txt" 17_runs
auger stat --sacct 2024.txt "$GOLDEN/sacct.json" >a
auger stat --sacct 17_runs "$GOLDEN/sacct.json" >b
auger stat --sacct "$GOLDEN/sacct.txt" "$GOLDEN/sacct.json" >c
cmp a c && cmp b c && head -n 2 a
auger stat --sacct 3.txt
PATH=$(dirname "$(command -v auger)")
for job in 12 12.0 12_3 12+1.batch 12.extern; do auger stat --sacct $job; done
