cd $GOLDEN
auger stages jobs.jsonl --sacct sacct.txt
auger stages jobs.jsonl --sacct sacct.txt -f csv -n 2
auger stages jobs.jsonl --sacct sacct.txt -f json | head -n 8
echo 'State|Elapsed' | auger stages jobs.jsonl --sacct -
auger stages jobs.jsonl --sacct nothing.txt
auger stages jobs.jsonl --sacct sacct.txt --by host
