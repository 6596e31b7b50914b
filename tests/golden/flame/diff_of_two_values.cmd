printf 'a;b 10 20\na;c 10 10\nd 0 5\ne 5 0\n' | auger flame - | awk '/id="frames"/, /^<\/g>/; /id="head"/, /^<\/g>/'
