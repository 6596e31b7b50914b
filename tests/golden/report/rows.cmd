cd "$GOLDEN" && auger report -n 3 demo.pb.gz
auger report -n 2 -f csv demo.pb.gz
auger report -n 0 --by comm demo.pb.gz
auger report -n 4 --tree demo.pb.gz
auger report -n 1 --callers scale demo.pb.gz
