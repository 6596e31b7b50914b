cd "$GOLDEN"
try() { auger report "$@"; echo "status $?"; }
try --by nonsense demo.pb.gz
try --by label: demo.pb.gz
try --tree --callers main demo.pb.gz
try --tree --by comm demo.pb.gz
try --callees main --by pid demo.pb.gz
try --value bytes demo.pb.gz
try --callers "(" demo.pb.gz
try --focus "[" demo.pb.gz
try --label stage demo.pb.gz
try --sort size demo.pb.gz
try -f xml demo.pb.gz
try -n many demo.pb.gz
try --min-percent 101 demo.pb.gz
try --min-percent 5 demo.pb.gz
try --tre demo.pb.gz
