auger convert -v "$GOLDEN/gdb.txt" --to folded 2>&1 | sed "/symbolized/d; s|$GOLDEN/||"
auger convert "$GOLDEN/gdb.txt" --stackcollapse
auger convert "$GOLDEN/gdb.txt" --stackcollapse --tid
auger convert - --from systemtap --stackcollapse <"$GOLDEN/gdb.txt"
auger convert "$GOLDEN/gdb.txt" --from nothing --stackcollapse
printf 'Thread 1 (LWP 3):\n' | auger convert - --from gdb --to folded
cat "$GOLDEN/gdb.txt" | auger convert --stackcollapse - | head -n 1
printf '#0  0x7f31 in read () from /lib/libc.so.6\n#1  main () at demo.c:12\n\n' | auger convert - --to folded
