cd "$GOLDEN" && auger report --value samples demo.pb.gz
