cd "$GOLDEN" && auger report -f json demo.pb.gz
