cp -R "$GOLDEN/two" .
auger cache aggregate two
cat two/profiling/cluster/cluster-profiling_top_paths.csv two/profiling/cluster/cluster-profiling_latency.csv
