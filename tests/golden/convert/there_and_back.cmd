# Folded stacks keep what stands in them through pprof; what auger wrote stays the same bytes.
printf 'main;read input;parse_[k] 12\nmain;Lorg/x:::run_[j] 3\nmain 1\n' >in.folded
auger convert in.folded -o a.pb.gz
auger convert a.pb.gz -o b.pb.gz && cmp a.pb.gz b.pb.gz
auger convert b.pb.gz --to folded
auger convert --to folded - <a.pb.gz -o - | auger convert - --to folded | wc -l
