python3 "$GOLDEN/make_elf.py" copy
cat >run.script <<'END'
copy 7 1.000001: 10 cpu-clock: 
	ffffffff81002f10 system_call ([kernel.kallsyms])
	            1044 [unknown] (/opt/bin/copy)

copy 7 1.000002: 30 cpu-clock: 
	            1004 [unknown] (/opt/bin/copy)
	            1044 [unknown] (/opt/bin/copy)
	            9999 [unknown] ([unknown])

copy 7 1.000003: 2 cpu-clock: 
	    7f00a51b2c2c main (/opt/bin/main)

END
auger report run.script --by address
auger report run.script --addrs
auger report run.script --addrs --tree -f csv
auger report run.script --addrs --by module
auger report run.script --binary copy --by address -f csv
sed 's/1004 /7f0000001004 /' run.script >moved.script
auger report moved.script --binary copy@7f0000000000 -f csv
auger merge moved.script --binary copy@0x7f0000000000 --to folded
auger diff run.script run.script --binary copy -f csv
auger flame run.script --binary copy | grep -o 'spin[^<]*' | head -n 1
auger convert run.script --to folded --addrs
auger convert run.script --to folded --addrs --binary copy
