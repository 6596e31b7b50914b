cd "$GOLDEN" && unset NO_COLOR
TERM=xterm python3 terminal.py 60 50 auger report -n 4 demo.pb.gz
TERM=xterm python3 terminal.py 60 50 auger report --tree --min-percent 4 demo.pb.gz
TERM=xterm python3 terminal.py 60 50 auger report -n 1 --color=never demo.pb.gz
TERM=dumb python3 terminal.py 60 50 auger report -n 1 demo.pb.gz
NO_COLOR=1 python3 terminal.py 60 50 auger report -n 1 demo.pb.gz
auger report -n 1 --color=always demo.pb.gz | sed "s/$(printf "\033")/^[/g"
