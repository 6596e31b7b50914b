# A profile without sample types is a profile; formats that need one say so.
printf '2\0' >empty.pb
auger convert empty.pb -o out.pb.gz && auger convert out.pb.gz -o out2.pb.gz && cmp out.pb.gz out2.pb.gz
for format in folded gperftools gperftools-symbols speedscope firefox callgrind; do
	auger convert empty.pb --to $format -o out
	echo $?
done
