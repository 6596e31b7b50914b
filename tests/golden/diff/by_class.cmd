cat >before.folded <<'END'
main;solve;MPI_Allreduce;poll 40
main;solve 60
END
cat >after.folded <<'END'
main;solve;MPI_Allreduce;poll 20
main;solve 50
main;write_checkpoint 30
END
echo 'checkpoint stack write_checkpoint' >rules
auger diff --by class before.folded after.folded
auger diff --by class --classes rules --sort name -f csv before.folded after.folded
auger diff --by class --label class=mpi.collective -f csv before.folded after.folded
auger diff --classes rules before.folded after.folded
