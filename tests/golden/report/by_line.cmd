cd "$GOLDEN" && auger report --by line demo.pb.gz
