cd "$GOLDEN/../../fuzz/corpus/trace"
for file in cut comma; do auger convert "$file" --to folded; done
auger convert torch --to folded
auger convert torch --to folded --value events
auger report torch --by line -f csv
auger report torch --by thread
auger report samples
auger convert samples --to folded --value samples
printf '[{"ph":"X","name":"a","ts":1,"dur":"x"},3,{"ph":"X"}]' | auger convert - --to folded
printf '{"traceEvents":[{"ph":"X" "name"}]}' | auger convert - --to folded
printf '{"traceEvents":7}' | auger convert --from trace - --to folded
