auger syscalls --method ptrace -f json true 2>json
python3 -m json.tool json >lines && grep -c '"call"' lines >count && test "$(cat count)" -gt 3 && echo JSON
auger syscalls --method ptrace -f csv true 2>csv
head -n 1 csv
grep -v , csv
auger syscalls --method ptrace -f json -o file true
