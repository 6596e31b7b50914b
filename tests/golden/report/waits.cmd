# Off-CPU time: each function with its reason, then all frames.
cd "$GOLDEN/../flame"
auger report --value offcpu waiting.pb.gz
auger report --value offcpu --kernel-frames --tree waiting.pb.gz
