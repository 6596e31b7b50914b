auger syscalls --method ptrace -f csv -o - -- cat /nonexistent/file 2>/dev/null | grep -oE '^(execve|exit_group|dup),[^,]*,[^,]*,'
auger syscalls --method ptrace -- no-such-program
echo $?
auger syscalls --method ptrace -o text -- sh -c 'echo its own; kill -9 $$'
echo $?
head -n 2 text
