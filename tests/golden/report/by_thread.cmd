cd "$GOLDEN" && auger report --by thread demo.pb.gz
auger report --by thread -f csv demo.pb.gz
