auger stat
auger stat -r 0 -- true
auger stat -- no-such-program
auger stat -o no/folder -- touch was-run
ls
auger stat -- sh -c 'exit 7' 2>figures
echo $?
auger stat -f csv -o - -- true | grep -oE '^(exit status|page size),[^,]*,[a-z]*'
auger stat -o text -- sh -c 'echo its own; kill -9 $$'
