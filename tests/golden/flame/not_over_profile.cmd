cp "$GOLDEN/stacks.folded" in.pb.gz
cp in.pb.gz named
auger flame in.pb.gz -o in.pb.gz
auger flame named -o other.folded
auger flame named -o ./named
cmp "$GOLDEN/stacks.folded" in.pb.gz && cmp "$GOLDEN/stacks.folded" named && ls
