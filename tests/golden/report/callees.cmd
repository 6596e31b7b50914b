cd "$GOLDEN" && auger report --callees walk demo.pb.gz
auger report --callees walk -f csv demo.pb.gz
