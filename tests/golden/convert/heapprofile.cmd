auger convert "$GOLDEN/../../fuzz/corpus/heapprofile/node" --to folded
auger report "$GOLDEN/../../fuzz/corpus/heapprofile/node" --by line -f csv
printf '{"head":{"callFrame":{"functionName":"a"},"selfSize":5,"children":[' | auger convert --from heapprofile - --to folded
