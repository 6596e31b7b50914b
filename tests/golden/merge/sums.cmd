printf 'a;b 1\na 2\n' >1.folded
printf 'a;b 10\nc 3\n' >2.folded
auger convert 2.folded -o 2.pb.gz
auger merge 1.folded 2.pb.gz --to folded
echo
auger merge 1.folded - --to folded <2.folded | auger merge - 1.folded --to folded
auger merge 1.folded 2.folded -o sum.pb.gz
auger merge 1.folded 2.folded >sum2.pb.gz
cmp sum.pb.gz sum2.pb.gz
