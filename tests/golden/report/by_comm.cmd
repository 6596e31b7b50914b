cd "$GOLDEN" && auger report --by comm demo.pb.gz
