printf 'main;f 3\r\nmade by hand\nmain;g 4\r\n' >folded
auger convert folded --to folded
auger convert folded --to folded --strict
grep -v hand folded | auger convert - --to folded --strict
auger convert - --stackcollapse --strict <"$GOLDEN/shapes.script" | wc -l
auger convert - --to folded --strict <"$GOLDEN/shapes.script"
printf '@[\n    f+1\n]: 3\nwarning\n' >maps
auger convert maps --to folded --strict
auger convert maps --stackcollapse --strict
auger convert maps --stackcollapse
