cp -R "$GOLDEN/two" .
auger cache aggregate two >two.txt
sed -n '/^## Levels/,/^## Top/p; /^## Files With/,/^## Path/p' two/profiling/cluster/cluster-profiling_summary.md
auger cache stats --cluster -v two
auger cache stats --cluster -f json two
auger cache stats --cluster -f csv two
