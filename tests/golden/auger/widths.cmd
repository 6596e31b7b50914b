# Tables at 80 and 120 columns, and in a pipe: each line that is wider, but the head. None.
cp -R "$GOLDEN"/../diff/*.pb.gz "$GOLDEN"/../report/demo.pb.gz "$GOLDEN"/../report/terminal.py "$GOLDEN"/../stages/results \
	"$GOLDEN"/../cache/job "$GOLDEN"/../stat/sacct.* . && export PAGER=cat
wider() {
	python3 -X utf8 -c 'import sys
for line in sys.stdin:
	if len(line.rstrip("\n")) > int(sys.argv[1]) and not line.startswith(("#", "auger")):
		print(*sys.argv[1:], line, end="")' "$@"
}
while read -r line; do
	for columns in 80 120; do
		python3 terminal.py $columns 50 $line 2>&1 | wider $columns "$line"
	done
	$line 2>&1 | wider 120 "$line"
done <<END
auger report demo.pb.gz
auger report --tree demo.pb.gz
auger report --by line demo.pb.gz
auger diff before.pb.gz after.pb.gz
auger convert --list
auger stages results --by host
auger cache aggregate job
auger stat --sacct sacct.txt sacct.json
END
# Colors: a terminal has them, unless NO_COLOR or CLICOLOR=0; CLICOLOR_FORCE has them in a pipe, too.
unset NO_COLOR CLICOLOR CLICOLOR_FORCE
export TERM=xterm
colors() {
	printf '%s: ' "$1"
	shift
	"$@" | tr '\033' '^' | grep -cF '^['
}
colors terminal python3 terminal.py 80 50 auger report -n 1 demo.pb.gz
colors pipe auger report -n 1 demo.pb.gz
colors NO_COLOR env NO_COLOR=1 python3 terminal.py 80 50 auger report -n 1 demo.pb.gz
colors CLICOLOR=0 env CLICOLOR=0 python3 terminal.py 80 50 auger report -n 1 demo.pb.gz
colors CLICOLOR_FORCE env CLICOLOR_FORCE=1 auger report -n 1 demo.pb.gz
colors both env CLICOLOR_FORCE=1 NO_COLOR=1 auger report -n 1 demo.pb.gz
