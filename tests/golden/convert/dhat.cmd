# DHAT of valgrind: what was allocated, at the peak, at the end, read and written.
corpus=$GOLDEN/../../fuzz/corpus/dhat
auger convert "$corpus/heap" --to folded
for type in alloc_space alloc_objects inuse_space inuse_objects peak_objects read written; do
	echo "$type $(auger convert "$corpus/heap" --to folded --value $type | tail -n 1)"
done
cp "$corpus/heap" . && auger report heap --by line
auger convert "$corpus/adhoc" --to folded
auger convert "$corpus/copy" --to csv
# Refused with the reason.
sed 's/"dhatFileVersion":2/"dhatFileVersion":3/' "$corpus/heap" | auger report -
sed 's/\[1,2,3,5]/[1,2,3,6]/' "$corpus/heap" | auger report -
head -n 20 "$corpus/heap" | auger report -
echo '{"dhatFileVersion":2,"pps":[]}' | auger report -
