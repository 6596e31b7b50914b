cd "$GOLDEN" && auger diff bytes.pb.gz bytes.pb.gz
auger diff -f json bytes.pb.gz bytes.pb.gz
