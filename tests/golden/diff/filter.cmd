cd "$GOLDEN" && auger diff --focus parse --comm work before.pb.gz after.pb.gz
