# Of two recordings, the head has the counts of both together, and -v those of each.
zcat "$GOLDEN/../../fuzz/corpus/pprof/times.pb.gz" >a.pb
sed 's/samples: [0-9]/samples: 9/; s/of the command: [0-9]/of the command: 9/' a.pb >b.pb
auger report -n 1 a.pb b.pb
auger report -n 1 -v a.pb b.pb 2>/dev/null
