# dot draws the graph: a stand-in of it, one that fails, and none
mkdir bin
printf '#!/bin/sh\necho "<svg>$1 $(grep -c label=)</svg>"\n' >bin/dot
chmod +x bin/dot
printf 'main;read 300\nstart 50\n' >in.folded
PATH=$PWD/bin:$PATH auger convert in.folded -o calls.svg
cat calls.svg
PATH=$PWD/bin:$PATH auger convert in.folded --to dot -o calls.pdf
cat calls.pdf
printf '#!/bin/sh\necho "out of luck" >&2\nexit 3\n' >bin/dot
PATH=$PWD/bin:$PATH auger convert in.folded -o failed.svg || echo $?
ls failed.svg 2>/dev/null
auger=$(command -v auger)
PATH=/nowhere "$auger" convert in.folded -o none.svg || echo $?
auger convert in.folded --to speedscope -o calls.svg
head -c 10 calls.svg
