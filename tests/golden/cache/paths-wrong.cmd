auger cache paths; echo $?
auger cache paths nowhere; echo $?
printf 'metric,value\ntotal_cache_hits,1\n' >h-1-profiling_aggregate.csv
auger cache paths .; echo $?
printf 'Data Cache Events {\n/a {\ncache hits: 1,\ncache misses: 0,\nneg: 0\n}\n}' >h-1-data_table_cache_event.output
auger cache paths .; echo $?
auger cache paths --prune-script h-1-profiling_aggregate.csv .; echo $?
printf '/a {\n' >>h-1-data_table_cache_event.output
auger cache paths .; echo $?
printf 'Data Cache Events {\n/a {\ncache hits: 1,\ncache misses: 0,\nneg: 0\n}\n}' >h-1-data_table_cache_event.output
printf 'metric,value\npaths_no_more_known,7\n' >h-1-profiling_aggregate.csv
mkdir root
auger cache paths --usage-root root --prune-script s.sh .; echo $?
auger cache paths --usage-root root . >/dev/null; echo $?
