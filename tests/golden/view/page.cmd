# what a page without script shows, and that nothing in it is somewhere else
cp "$GOLDEN/../flame/stacks.folded" .
auger view stacks.folded -o page.html 2>&1 | sed "s,[0-9.]* KiB,N KiB,"
sed -n '/<div id="plain">/,/<\/div>/p' page.html
grep -c '<script' page.html
grep -oE "default-src 'none'; script-src|https?://[a-z0-9./]*" page.html | grep -vx http://www.w3.org/2000/svg
