cd "$GOLDEN" && auger report paths.pb.gz
auger report --by module --sort total paths.pb.gz
auger report --focus '^/usr/lib/python3/dist-packages/scipy/stats/' paths.pb.gz
TERM=dumb python3 terminal.py 64 50 auger report -n 5 paths.pb.gz
