# A row for each stack and its labels: what pandas.read_csv() takes.
demo=$GOLDEN/../report/demo.pb.gz
auger convert "$demo" -o demo.csv
head -n 6 demo.csv
python3 - demo.csv <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
sums = {}
for row in rows:
    sums[row["leaf"]] = sums.get(row["leaf"], 0) + int(row["cpu/nanoseconds"])
    assert row["stack"].split(";")[-1] == row["leaf"]
for leaf, value in sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:3]:
    print(value, leaf)
END
auger report "$demo" --value cpu -f csv -n 3 | cut -d, -f1,6
# Hostile names.
auger convert "$GOLDEN/../report/hostile.pb.gz" --to csv
printf 'main;=1+1 2\na;"b,c" 3\n' >odd.folded
auger merge --label 'x==1+1' --label pid=7 --label 'a,b={n}' odd.folded -o odd.pb.gz
auger convert odd.pb.gz --to csv
printf '' >empty.folded
auger convert empty.folded --to csv
auger merge --label run={n} odd.folded odd.folded -o two.csv && cat two.csv
