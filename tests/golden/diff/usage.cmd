cd "$GOLDEN"
try() { auger diff "$@"; echo "status $?"; }
try before.pb.gz
try before.pb.gz after.pb.gz bytes.pb.gz
try --normalize work before.pb.gz after.pb.gz
try --normalize 0:3 before.pb.gz after.pb.gz
try --normalize duration bytes.pb.gz bytes.pb.gz
try --value alloc before.pb.gz after.pb.gz
try --by size before.pb.gz after.pb.gz
try --focus "(" before.pb.gz after.pb.gz
try --sort z before.pb.gz after.pb.gz
