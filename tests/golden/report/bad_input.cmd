try() { auger report "$@"; echo "status $?"; }
try
try missing.pb.gz
mkdir folder && try folder
: >empty && try empty
echo "no profile at all" >words && try words
head -c 300 "$GOLDEN/demo.pb.gz" >cut.pb.gz && try cut.pb.gz
try - </dev/null
