cd "$GOLDEN/../../fuzz/corpus"
auger report firefox/gecko
auger convert firefox/gecko --to folded --pid
auger report firefox/shared --by line -f csv --value samples
for value in samples time cpu; do auger convert firefox/shared --to folded --value $value; done
auger convert folded/stacks --to folded >"$OLDPWD/want" && auger convert firefox/own --to folded | cmp - "$OLDPWD/want"
gzip -c firefox/shared | auger convert - --to folded
printf '{"threads":[{"stackTable":{"prefix":[1,0],"frame":[0,0]},"samples":{}}]}' | auger convert - --to folded
printf '{"threads":[{"stackTable":{"prefix":[null],"frame":[0]},"samples":{}}]}' | auger convert - --to folded
printf '{"preprocessedProfileVersion":' | auger convert - --to folded
