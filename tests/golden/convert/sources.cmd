auger convert "$GOLDEN/sources.script" --stackcollapse --srcline
auger convert "$GOLDEN/sources.script" --stackcollapse --srcline --all --addrs --tid
auger convert "$GOLDEN/sources.script" --stackcollapse 2>&1
auger report "$GOLDEN/sources.script" --by line -f csv
printf 'a 1 2.0: 1 e:\n\t1 f (m)' | auger convert --stackcollapse --srcline - 2>&1
printf 'app 1 2.0: 1 e:\n\t1 [unknown]->b ([unknown])\n\t2 main (/a)\n a.c:3\n\n' | auger convert --stackcollapse --srcline -
auger convert "$GOLDEN/sources.script" --srcline
