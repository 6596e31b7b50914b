auger convert "$GOLDEN/vsprof.txt" --to folded
auger convert "$GOLDEN/vsprof.txt" --stackcollapse
# Each row of a deep tree costs what is new of it, and its lines are bounded.
{ echo 'Level,Function Name,Inclusive Samples,Exclusive Samples,'; seq 1000 | sed 's/.*/&,f&,1,1,/'; yes '1000,leaf,1,1,' | head -n 50000; } >deep
auger convert deep --to folded | tail -n 1 | grep -o '[^;]*$'
auger convert deep --stackcollapse
