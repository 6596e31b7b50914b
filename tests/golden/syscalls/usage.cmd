auger syscalls -e opneat -- true
auger syscalls --longer 10 -- true
auger syscalls --longer 0ms -- true
auger syscalls --failed --stacks s.pb.gz -- true
auger syscalls -P '' -- true
auger syscalls
auger syscalls -a -p 1
auger syscalls -d 1 -- true
auger syscalls --path --by file -- true
auger syscalls --trace --histogram -- true
auger syscalls --slowest --by thread -- true
auger syscalls --by nothing -- true
auger syscalls -p x
auger syscalls -o no/folder -- touch was-run
auger syscalls --method ptrace -a
ls
