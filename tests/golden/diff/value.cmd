cd "$GOLDEN" && auger diff --value samples before.pb.gz after.pb.gz
auger diff --value requests before.pb.gz after.pb.gz
