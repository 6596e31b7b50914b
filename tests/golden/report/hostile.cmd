cd "$GOLDEN" && auger report hostile.pb.gz
auger report --tree hostile.pb.gz
auger report --by comm hostile.pb.gz
