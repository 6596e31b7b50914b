cp -R "$GOLDEN/job" .
auger cache aggregate job
cd job/profiling/cluster && for file in *; do echo "== $file"; cat "$file"; done
