cd "$GOLDEN" && auger report -f csv hostile.pb.gz
auger report -f csv hostile.pb.gz | python3 -c "
import csv, io, sys
rows = list(csv.reader(io.TextIOWrapper(sys.stdin.buffer, encoding=\"utf-8\", newline=\"\")))
print(len(rows), {len(row) for row in rows})"
