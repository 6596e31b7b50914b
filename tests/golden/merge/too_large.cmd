# Values near 2^63 stay at the end of their range, and one line says so.
max=9223372036854775807
printf 'main;a %s\nmain;b 1\n' $max >a.folded
printf 'main;a 5\nmain;c 99999999999999999999\n' >b.folded
auger report a.folded -f csv
auger merge a.folded b.folded -o sum.pb.gz
auger convert sum.pb.gz --to folded
auger diff a.folded b.folded -f csv 2>&1 | cut -d, -f1-3,10
auger flame sum.pb.gz | grep -c '<rect'
for format in callgrind firefox speedscope; do auger convert sum.pb.gz --to $format | grep -c $max; done
printf 'x 7 1.000002: %s c: \n\t1 f (m)\n\nx 7 1.000003: 1 c: \n\t1 f (m)\n\n' 99999999999999999999 >s.script
auger convert s.script --to folded
auger convert a.folded --to folded
