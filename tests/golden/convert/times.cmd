# Samples stand at their times, and the recording is as long as it was; the sums are the same.
times=$GOLDEN/../../fuzz/corpus/pprof/times.pb.gz
for to in speedscope firefox; do
	auger convert "$times" --value cpu -o out.$to.json
	auger report out.$to.json -f json -n 1 | grep -E '^"(duration_ns|total)"'
done
auger report "$times" --value cpu -f json -n 1 | grep -E '^"(duration_ns|total)"'
sed -n '/(pid/,$p' out.speedscope.json
grep -E 'profilingEndTime|timeDeltas|^"weight"' out.firefox.json
# Without times nothing is made up.
auger convert "$times" --to folded --value cpu >stacks.folded
auger convert stacks.folded --to firefox | grep -E 'profilingEndTime|timeDeltas|^"weight"'
auger convert stacks.folded --to speedscope | grep -E '(pid|endValue)'
