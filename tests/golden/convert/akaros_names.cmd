# Names of another machine: only by what the user tells.
python3 "$GOLDEN/make_trace.py" plain >trace
printf '%s\n' 'ffffffffc0001000 T idle' 'ffffffffc0001100 t schedule' 'ffffffffc0001200 T start' >syms
auger convert --from akaros trace --to folded
echo
auger convert --from akaros --kallsyms syms trace --to folded
echo
auger convert --from akaros --kallsyms syms trace --to gperftools-symbols | grep -a '^0x'
auger convert --from akaros --kallsyms nowhere trace --to folded
auger convert --from akaros --binary syms trace --to folded
auger convert --op2-compatible --to folded trace
echo $?
