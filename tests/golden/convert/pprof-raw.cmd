auger convert "$GOLDEN/pprof-raw.txt" --to folded
auger convert "$GOLDEN/pprof-raw.txt" --to folded --value samples
auger convert "$GOLDEN/pprof-raw.txt" --stackcollapse
auger convert "$GOLDEN/pprof-raw.txt" -o x.pb.gz && auger report x.pb.gz --by line
