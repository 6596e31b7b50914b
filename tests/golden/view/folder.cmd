# A folder is one profile; two names are compared.
mkdir runs
cp "$GOLDEN/../flame/stacks.folded" runs/1.folded
cp "$GOLDEN/../flame/after.folded" runs/2.folded
echo words >runs/README
page() { auger view "$@" 2>/dev/null | grep -oE '<title>.*</title>'; }
page runs
page runs runs/1.folded
page runs runs/1.folded --merge
