cd $GOLDEN
auger stages --by host --sort name results 2>/dev/null
auger stages --by job --rows 3 'results/[a].*' results/more/c.jsonl.gz
auger stages --by file --sort calls -n 1 results 2>/dev/null
auger stages --by host,input --sort name -n 3 results 2>/dev/null
auger stages --by host,colour results 2>&1 | tail -n 1
