cd $GOLDEN
auger stages bare.jsonl
auger stages - -f csv <bare.jsonl
auger stages bare.jsonl -f json
