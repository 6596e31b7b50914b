unset SLURM_JOB_ID SLURM_JOB_NUM_NODES SLURM_NNODES PBS_NODEFILE
names() { sed "s,$AUGER,AUGER,g; s/[0-9a-f]\{16\}/NAME/g; s,$PWD,HERE,g"; }
auger cache launch --dry-run --hosts n1,n2 --rsh 'rsh -x' -t /soft -j /job --shared=/a --budget 1G --exact /view | names
printf 'a slots=2\na\nb\n' >hosts
auger cache launch --dry-run --host-file hosts --launcher mpich -d job -T 2 -M 10485760 -E 2000 -P -N 5 -s 10 -t both -b 1,2 -v view 2>&1 | names
SLURM_JOB_ID=77 SLURM_JOB_NUM_NODES=4 auger cache launch --dry-run -j /job view | names
PBS_NODEFILE=hosts auger cache launch --dry-run -j /job --listen ib0 view | names
SLURM_JOB_ID=x auger cache launch --dry-run view; echo $?
auger cache launch view; echo $?
auger cache launch --hosts 'a,-oProxyCommand=x' view; echo $?
auger cache launch --hosts a,b; echo $?
auger cache stop; echo $?
auger cache stop --job .; echo $?
auger cache stop .; echo $?
mkdir cluster; echo '{}' >cluster/launch.json; auger cache stop --job .; echo $?
auger cache stats --cluster .; echo $?
