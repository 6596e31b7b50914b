# No file of a fuzz target's corpus is taken for another format than the target's.
cd "$GOLDEN/../../fuzz/corpus"
auger convert --list | awk 'NR > 1 && $2 == "yes" { print $1 }' | while read -r format; do
	for file in "$format"/*; do
		auger convert -v "$file" -o /dev/null --to pprof 2>&1 </dev/null |
			sed -n 's/^auger: load: .* bytes of format //p' | grep -vx "$format" | sed "s|^|$file: |"
	done
done
# The format of each input of this folder.
cd "$GOLDEN"
for file in *.txt *.json *.script; do
	auger convert -v "$file" -o /dev/null --to pprof 2>&1 </dev/null |
		sed -n "s/^auger: load: .* bytes of format /$file: /p"
done
