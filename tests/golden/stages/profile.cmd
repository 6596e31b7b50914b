auger stages $GOLDEN/results --to profile -o stages.pb.gz 2>/dev/null
auger report --tree stages.pb.gz
auger stages $GOLDEN/results --by input --to folded 2>/dev/null
