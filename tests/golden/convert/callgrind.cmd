cd "$GOLDEN/../../fuzz/corpus"
auger report callgrind/calls
auger convert callgrind/calls --to folded
auger convert callgrind/calls --to folded --value Ns
auger convert callgrind/xdebug --to folded
auger report callgrind/own -f csv | head -n 8
printf 'events: A\nfn=a\n1 5\ncfn=b\ncalls=1 1\n1 6\nfn=b\n1 4\ncfn=a\ncalls=1 1\n1 2\nfn=c\n1 -3\nwhat\ncalls=1 1\n1 1\n' | auger convert - --to folded
printf 'fl=a\nevents: \nfn=a\n1 5\n' | auger convert --from callgrind - --to folded
