cp -R "$GOLDEN/job" .
printf '%s\n' '# ours first' 'our_environment any /lus/flare/env*' >rules
auger cache aggregate -f json -n 1 --classes rules job mine | grep -v 'latency_s'
cat job/profiling/cluster/mine-profiling_path_classes.csv job/profiling/cluster/mine-profiling_top_paths.csv
