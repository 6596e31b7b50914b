auger stat
auger stat -a -p 1
auger stat -a -- true
auger stat -p 1,x
auger stat -a -r 2
auger stat -d 1 -- true
auger stat --pin -- true
auger stat --scale 2,1 -- true
auger stat --scale 1 --vs true -- true
auger stat -a --prepare true
auger stat -r 2 --format-gnu %e -- touch was-run
auger stat --vs 1 --vs 2 --vs 3 --vs 4 --vs 5 -- touch was-run
auger stat -r 0 -- true
auger stat -- no-such-program
auger stat -o no/folder -- touch was-run
ls
auger stat -- sh -c 'exit 7' 2>figures
echo $?
auger stat -f csv -o - -- true | grep -oE '^(exit status|page size),[^,]*,[a-z]*'
auger stat -o text -- sh -c 'echo its own; kill -9 $$'
