cd "$GOLDEN" && auger report drop.pb.gz && auger convert drop.pb.gz --to folded -o -
