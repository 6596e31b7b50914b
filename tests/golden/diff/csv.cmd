cd "$GOLDEN" && auger diff -f csv before.pb.gz after.pb.gz
