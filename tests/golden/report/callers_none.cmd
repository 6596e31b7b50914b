cd "$GOLDEN" && auger report --callers nowhere demo.pb.gz
