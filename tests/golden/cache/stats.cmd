mkdir -p job/tables
for name in a-1 b-2; do
	printf '/x: 5\n=\nTotal bytes: 7340032\ntotal number of files: 1200\n=\n' >job/tables/$name-data_cache_size.output
	printf '/x: 5\n=\nTotal bytes: 1234567890\ntotal number of entries: 12345\n=\n' >job/tables/$name-md_cache_size.output
	printf 'table,used_bytes,entries,budget_bytes,remaining_bytes\ncombined,1,2,4294967296,3052059374\n' >job/tables/$name-cache_usage.csv
done
COLUMNS=80 auger cache stats job
auger cache stats -f json job
auger cache stats -f csv job
