# A name that matches nothing: the nearest that exist.
cd "$GOLDEN"
try() { auger "$@" >/dev/null; echo "status $?"; }
try report --comm workr demo.pb.gz
try report --tid 5 demo.pb.gz
try report --label rank=3 demo.pb.gz
try report --focus scal_ demo.pb.gz
try report --callers scal_ demo.pb.gz
try annotate scale_all demo.pb.gz
try report --by funtion demo.pb.gz
try report --from pporf demo.pb.gz
try convert --to flded demo.pb.gz
try report -f josn demo.pb.gz
try record -e page-fault true
