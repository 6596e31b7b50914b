cd $GOLDEN
auger stages --diff before.jsonl after.jsonl
auger stages --diff --sort name -f csv before.jsonl after.jsonl
auger stages --diff --by host -n 2 results bare.jsonl 2>/dev/null
auger stages --diff before.jsonl
auger stages --diff --sort cpu before.jsonl after.jsonl
auger stages --diff run before.jsonl
