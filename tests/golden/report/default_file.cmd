cp "$GOLDEN/demo.pb.gz" auger.pb.gz && auger report -n 2
