cat >run.folded <<'END'
main;solve;PMPI_Allreduce;opal_progress;poll 40
main;solve;mpi_waitall_;progress 5
main;solve 30
main;assemble_rows 20
main;MPI_File_write_all;write 3
END
auger report --by class run.folded
printf '# mine\nassembly stack assemble_*\n' >rules
auger report --by class --classes rules run.folded -f csv
auger report --by class --label class='mpi.*' run.folded -f csv
auger report --classes rules run.folded
echo 'assembly stack' >rules
auger report --by class --classes rules run.folded
auger report --by class --classes none run.folded
