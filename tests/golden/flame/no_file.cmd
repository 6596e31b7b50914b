auger flame missing.pb.gz
