# One line, status 1, and nothing is written over.
printf 'main;work 5\n' | auger convert - -o good.pb.gz
gzip -dc good.pb.gz >good.pb
echo keep >out.folded
try() {
	auger convert "$1" -o out.folded
	echo "$? $(cat out.folded)"
}
head -c 60 good.pb.gz >cut.pb.gz
try cut.pb.gz
head -c 40 good.pb >cut.pb
try cut.pb
cat good.pb.gz good.pb.gz >two.pb.gz
try two.pb.gz
: >empty.pb.gz
try empty.pb.gz
: >empty
try empty
printf 'no number\na;b\n' >line.folded
try line.folded
head -c 3000 /bin/sh >garbage.folded
try garbage.folded
try missing.pb.gz
mkdir folder && try folder
ls
