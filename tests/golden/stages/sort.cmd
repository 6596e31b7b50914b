cd $GOLDEN
for key in self cpu calls mean max p95 peak rss; do
	echo $key: $(auger stages --sort $key -f csv results bare.jsonl 2>/dev/null | sed 's/^.*,\([a-z_.]*\),[^,]*,[^,]*$/\1/')
done
