cd "$GOLDEN" && auger report demo.pb.gz >/dev/full
