cd "$GOLDEN"
try() { auger diff "$@"; echo "status $?"; }
try missing.pb.gz after.pb.gz
try before.pb.gz missing.pb.gz
try before.pb.gz bytes.pb.gz
try before.pb.gz table.cmd
