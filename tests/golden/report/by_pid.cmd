cd "$GOLDEN" && auger report --by pid -f json demo.pb.gz
