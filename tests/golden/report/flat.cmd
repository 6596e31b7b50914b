cd "$GOLDEN" && auger report demo.pb.gz
