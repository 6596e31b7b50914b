auger flame --title 'a < b & "c"' --focus main --pid 12 "$GOLDEN/stacks.folded" -o a.svg
auger flame --title 'a < b & "c"' --focus main "$GOLDEN/stacks.folded" |
	awk '/id="head"/, /^<\/g>/; /id="foot"/, /<\/g>$/; /id="data"/'
