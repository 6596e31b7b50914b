# a root for each class of activity
printf 'main;solve;MPI_Allreduce;poll 40\nmain;solve 50\nmain;checkpoint 10\n' >run.folded
echo 'output stack checkpoint' >rules
auger flame --by class run.folded | grep -oE '<title>[a-z.]+$'
auger flame --by class --classes rules run.folded | grep -oE '<title>[a-z.]+$'
auger flame --classes rules -o f.svg run.folded
