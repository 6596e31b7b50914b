# 1000 ranks of known truth: rank 7 computes three times as much, rank 40 alone writes; what waits in MPI is left out.
awk 'BEGIN {
	for (rank = 0; rank < 1000; rank++) {
		file = sprintf("r%04d.folded", rank)
		print "main;solve;kernel " (rank == 7 ? 3000 : 1000) >file
		print "main;solve;MPI_Allreduce;progress " (rank == 7 ? 0 : 2000) >file
		print "main;even 500" >file
		if (rank == 40)
			print "main;output;write 250" >file
		close(file)
	}
}'
auger merge --label rank r*.folded -o job.pb.gz
auger report --imbalance job.pb.gz
auger report --imbalance --sort total -f json -n 2 job.pb.gz
echo 'even stack even' >rules
auger report --imbalance --classes rules --ignore kernel -f csv job.pb.gz
auger report --imbalance r0001.folded
auger report --imbalance --tree job.pb.gz
auger report --imbalance --by rank job.pb.gz
auger report --by rank -n 2 job.pb.gz
