auger report -n 2 - <"$GOLDEN/demo.pb.gz"
