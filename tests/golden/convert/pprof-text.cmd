cd "$GOLDEN/../../fuzz/corpus/pprof-text"
for file in *; do echo "$file:"; auger report --from pprof-text "$file" 2>&1; done
auger convert symbols --to folded --value alloc_space
auger convert threads --to folded
auger convert ../gperftools/java --to folded --value samples
printf 'heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x1\n0: 8 [1: 8] @ 0x1\nx\n' | auger convert - --to folded --strict
