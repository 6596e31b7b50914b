cd "$GOLDEN" && auger report --focus fill --ignore memset --label stage=init --pid 100 demo.pb.gz
auger report --comm worker --tid 101 -f json -n 1 demo.pb.gz
auger report --comm nobody demo.pb.gz
