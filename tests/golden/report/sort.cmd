cd "$GOLDEN" && auger report --sort total -n 4 demo.pb.gz
auger report --sort name -n 4 demo.pb.gz
auger report --sort name --by comm demo.pb.gz
