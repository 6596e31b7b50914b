auger convert "$GOLDEN/shapes.script" --stackcollapse
cat "$GOLDEN/shapes.script" | auger convert --stackcollapse --all 2>/dev/null | auger flame - -o - | grep -c '^<svg'
auger convert - --stackcollapse --all --tid --addrs <"$GOLDEN/shapes.script" 2>/dev/null
auger convert "$GOLDEN/shapes.script" --stackcollapse --kernel --pid 2>/dev/null
auger convert "$GOLDEN/shapes.script" --stackcollapse --event-filter faults --jit -o x.folded 2>/dev/null && cat x.folded
printf 'a2 1 2.0: %s e:\n\t1 f (m)\n\n' 9223372036854775807 1 | auger convert --stackcollapse -
printf '' | auger convert --stackcollapse -
printf 'no sample\n' | auger convert --stackcollapse -
auger convert "$GOLDEN/shapes.script" --stackcollapse --to pprof
auger convert --stackcollapse - <"$GOLDEN/../report/demo.pb.gz"
