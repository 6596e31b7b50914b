printf 'a;b 2\n' | auger convert - -o auger.pb.gz
auger convert --to folded
