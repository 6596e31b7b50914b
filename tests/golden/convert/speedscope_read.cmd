auger convert "$GOLDEN/speedscope_read.json" --to folded --value time
auger convert "$GOLDEN/speedscope_read.json" --to folded --value space
auger report "$GOLDEN/speedscope_read.json" --by label:profile -f csv
auger convert "$GOLDEN/speedscope_read.json" --to speedscope -o again.speedscope.json
auger convert again.speedscope.json --to folded --value time
printf '{"$schema":"speedscope","shared":{"frames":[]},"profiles":[{"type":"sampled","samples":[[0]],"weights":[1]}]}' | auger convert - --to folded
printf '{"$schema":"speedscope","shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","samples":[[0],[0]],"weights":[1]}]}' | auger convert - --to folded
printf '{"$schema":"speedscope","shared":{"frames":[{"name":"a"' | auger convert - --to folded
printf '{"$schema":"speedscope"}' | auger convert - --to folded
