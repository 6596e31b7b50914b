# The file of a profile may be plain, and its name need not tell what it is.
printf 'a;b 2\n' >in.folded
auger convert in.folded -o in.pb.gz
gzip -dc in.pb.gz >what
auger convert what --to folded
