auger cache run; echo $?
auger cache stats; echo $?
auger cache stats .; echo $?
auger cache snapshot .; echo $?
auger cache reset nowhere; echo $?
mkdir -p job/tables/final
printf 'all entries should be 144 bytes\n/a: 144\n=====\nTotal bytes: 144\ntotal number of entries: 1\n=====\n' >job/tables/final/h-1-md_cache_size.output
printf '/a: 7\n=====\nTotal bytes: 7340032\ntotal number of files: 1\n=====\n' >job/tables/final/h-1-data_cache_size.output
printf '/a: 7\n=====\nTotal bytes: 8\ntotal number of files: 1\n=====\n' >job/tables/final/h-2-data_cache_size.output
auger cache stats job --csv out.csv; cat out.csv
echo 'Total bytes: -3' >job/tables/final/h-3-tree_cache_size.output
auger cache stats job; echo $?
