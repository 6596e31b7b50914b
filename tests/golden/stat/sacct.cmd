auger stat --sacct "$GOLDEN/sacct.txt" "$GOLDEN/sacct.json"
auger stat -f csv --sacct - < "$GOLDEN/sacct.txt" | head -2
auger stat --sacct "$GOLDEN/sacct.txt" "$GOLDEN/sacct.txt" 2>&1 | sed 's,/.*/,,'
auger stat --sacct "$GOLDEN/sacct.json" 2>&1 | sed 's,/.*/,,'
auger stat --sacct 1 -a
auger stat --sacct 1 a b
