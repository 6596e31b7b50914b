cd "$GOLDEN" && PAGER="sed s/^/paged:/" python3 terminal.py 100 12 auger report -n 5 demo.pb.gz
PAGER="sed s/^/paged:/" python3 terminal.py 100 50 auger report -n 1 demo.pb.gz
PAGER=cat python3 terminal.py 100 5 auger report -n 1 demo.pb.gz
PAGER=/no/such/pager python3 terminal.py 100 5 sh -c "auger report -n 1 demo.pb.gz 2>/dev/null"
PAGER="sed s/^/paged:/" auger report -n 1 demo.pb.gz
