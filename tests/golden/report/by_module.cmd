cd "$GOLDEN" && auger report --by module demo.pb.gz
