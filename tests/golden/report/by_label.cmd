cd "$GOLDEN" && auger report --by label:stage demo.pb.gz
auger report --by label:request demo.pb.gz
auger report --by label:request -f json demo.pb.gz
auger report --by label:nothing demo.pb.gz
