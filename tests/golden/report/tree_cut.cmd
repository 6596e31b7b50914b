cd "$GOLDEN" && auger report --tree --min-percent 20 demo.pb.gz
auger report --tree --by module --sort name --min-percent 0 demo.pb.gz
