cp -R "$GOLDEN/job" .
mkfifo job/profiling/final/h-1-profiling_aggregate.csv
printf '%s\n' '# ours first' 'our_environment any /lus/flare/env*' >rules
auger cache aggregate -f json -n 1 --classes rules --output-dir out job mine | grep -v 'latency_s'
cat out/mine-profiling_path_classes.csv out/mine-profiling_top_paths.csv
