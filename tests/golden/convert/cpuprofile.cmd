auger convert "$GOLDEN/cpuprofile.json" --to folded
auger report "$GOLDEN/cpuprofile.json" --by line -f csv
sed 's/"samples".*/"x":0}/' "$GOLDEN/cpuprofile.json" | auger convert - --to folded --value samples
printf '{"nodes":[{"id":1,"callFrame":{"functionName":"a"},"children":[2]},{"id":2,"callFrame":{"functionName":"b"},"hitCount":1,"children":[1]}]}' | auger convert - --to folded
printf '{"nodes":[],"callFrame":0' | auger convert - --to folded
