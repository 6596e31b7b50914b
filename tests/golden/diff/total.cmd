cd "$GOLDEN" && auger diff --total before.pb.gz after.pb.gz
