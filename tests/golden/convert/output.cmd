# What cannot be written.
printf 'a 1\n' >in.folded
auger convert in.folded --to folded >/dev/full
echo $?
auger convert in.folded --to folded -o /dev/full
echo $?
auger convert in.folded -o nowhere/out.pb.gz
echo $?
auger convert in.folded --to folded -o .
echo $?
