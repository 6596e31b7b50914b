cd "$GOLDEN" && auger report -f csv demo.pb.gz
