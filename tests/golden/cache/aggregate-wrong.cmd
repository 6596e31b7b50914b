auger cache aggregate; echo $?
auger cache aggregate nowhere; echo $?
auger cache aggregate . a/b; echo $?
auger cache aggregate .; echo $?
printf 'metric,value\ntotal_cache_hits,1' >h-1-profiling_aggregate.csv
auger cache aggregate .; echo $?
printf 'metric,value\ntotal_cache_hits,1\n' >h-1-profiling_aggregate.csv
echo 'a b' >rules
auger cache aggregate --classes rules .; echo $?
auger cache aggregate . >/dev/null; echo $?
auger cache aggregate . >/dev/null; echo $?
ls profiling/cluster | head -n 1
mkfifo fifo
ln -s fifo h-2-profiling_aggregate.csv
ln -s nowhere h-3-profiling_aggregate.csv
auger cache aggregate . >/dev/null; echo $?
auger cache aggregate --output-dir . . h-1; echo $?
auger cache aggregate --output-dir ./profiling/../. . x-5; echo $?
auger cache aggregate --output-dir . . h1 >/dev/null; echo $?
