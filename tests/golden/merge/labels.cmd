mkdir -p node1 node2
printf 'a;b 1\n' | tee node1/x.folded >node2/y.folded
auger merge --label rank --label host={dir} --label 'run={file} of {n} {x' */*.folded -o all.pb.gz
auger merge --label outer=1 all.pb.gz -o all.pb.gz
for label in rank=0 rank=1 host=node1 host=node. 'run=x of 0 .x' outer=1 host=node3; do
	echo "$label $(auger convert all.pb.gz --to folded --label "$label")"
done
