# Standard error is a terminal, so that rows fit it; in a pipe they have 120 columns, and with -v they are whole.
P=$(printf '/nonexistent%.0s' 1 2 3 4 5 6 7 8 9)
export P
python3 "$GOLDEN/../report/terminal.py" 80 50 auger syscalls --method ptrace --slowest -P "$P" -- sh -c 'exec cat "$P" 2>file' |
	sed 's/…/~/g' | awk 'length > 80; / openat .*~/ { is_cut = 1 } END { print is_cut }'
auger syscalls -v --method ptrace --slowest -P "$P" -- sh -c 'exec cat "$P" 2>file' 2>&1 | grep -o '"/nonexistent/.*"'
