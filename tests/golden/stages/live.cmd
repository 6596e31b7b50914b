# A sacct of our own, that tells what it was asked.
mkdir bin
printf '#!/bin/sh\necho "$@" >asked\ncat "$GOLDEN/sacct.txt"\n' >bin/sacct
chmod +x bin/sacct
PATH=$PWD/bin:$PATH
auger stages $GOLDEN/jobs.jsonl --sacct live -n 1
cat asked
auger stages $GOLDEN/bare.jsonl --sacct live
printf '#!/bin/sh\necho a warning >&2\necho "Slurm accounting storage is disabled" >&2\nexit 1\n' >bin/sacct
auger stages $GOLDEN/jobs.jsonl --sacct live
