auger record -o x.svg true
auger record -o perf.data true
ls
