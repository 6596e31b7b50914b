gzip -dc $GOLDEN/results/more/c.jsonl.gz >c.jsonl
zstd -q c.jsonl -o c.zst
auger stages c.zst -f csv | cut -d , -f 1-4,35-
head -c 150 $GOLDEN/results/more/c.jsonl.gz | cat $GOLDEN/results/more/c.jsonl.gz - | auger stages - -f csv | cut -d , -f 1-4,35-
