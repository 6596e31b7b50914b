# Traces of Akaros' profiler, one a case of make_trace.py: what is sound is kept, the rest is told.
python3 "$GOLDEN/make_trace.py" --list >list
while read -r name count; do
	python3 "$GOLDEN/make_trace.py" "$name" >"$name"
	echo "== $name"
	auger convert --from akaros "$name" --to folded 2>&1 | cut -c 1-150
done <list
echo "== by content"
auger convert plain --to folded
auger convert later_2 --to folded
echo "== there and back"
auger convert --from akaros plain --to akaros -o a
auger convert --from akaros a --to akaros -o b
cmp a b && auger convert --from akaros b --to folded
echo "== as op2"
auger convert --op2-compatible kernel_and_user | od -A d -t x8
auger convert --op2-compatible cut_in_pcs | od -A d -t x8
auger convert --op2-compatible empty
echo $?
