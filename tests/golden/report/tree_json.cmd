cd "$GOLDEN" && auger report --tree -f json demo.pb.gz
