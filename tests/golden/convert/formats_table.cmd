# The table of docs/formats.md is what `convert --list -v` prints.
auger convert --list -v | sed 's/   */|/g; s/^/|/; s/$/|/; s/|/ | /g; s/^ //; s/ $//; s/  *$//' >table
sed -n '/^| format |/,/^$/p' "$GOLDEN/../../../docs/formats.md" | sed '2d; /^$/d' >documented
diff table documented && echo same
