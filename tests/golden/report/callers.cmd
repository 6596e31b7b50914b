cd "$GOLDEN" && auger report --callers scale demo.pb.gz
