cd "$GOLDEN/../../fuzz/corpus/perfdata"
for file in chains packed pipe two_events group switches; do auger convert $file --to folded; done
auger report chains
auger convert cut --to folded 2>&1
auger convert big_endian --to folded
