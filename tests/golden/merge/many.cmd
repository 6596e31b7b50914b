# More files than descriptors or memory would hold at once.
for i in $(seq 1000); do
	echo "main;work;step$((i % 7)) $i" >$i.folded
done
(
	ulimit -n 20
	auger merge -o all.pb.gz --label rank *.folded
)
auger convert all.pb.gz --to folded
auger convert all.pb.gz --to folded --label 'rank=99[0-9]'
