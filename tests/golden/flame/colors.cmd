for colors in module name hot plain; do
	auger flame --colors $colors "$GOLDEN/stacks.folded" | sed -n 's/^<g class="\(.*\)"><title>\(.*\)/\1 \2/p' |
		head -n 4
done
