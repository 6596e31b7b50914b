cd "$GOLDEN" && auger diff -f json before.pb.gz after.pb.gz
