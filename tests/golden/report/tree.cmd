cd "$GOLDEN" && auger report --tree demo.pb.gz
