# The name of an output is a pattern.
export PMI_RANK=3 PMI_SIZE=4 PBS_JOBID=77/..
printf 'a;b 1\n' | auger merge - -o 'x.%r.%j.%a.%%.%q.pb.gz'
ls
auger merge x.* -o "$(printf '%04000d%%r%090d' 0 0 0)"
echo $?
