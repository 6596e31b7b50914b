cd "$GOLDEN" && auger diff before.pb.gz after.pb.gz
