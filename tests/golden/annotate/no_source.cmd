# A profile names any path as a source: what is no regular file is not opened.
mkfifo pipe
for file in "$PWD/pipe" /dev/zero -; do
	printf 'a 7 1.500000: 1000000 cpu-clock:\n\t  401136 work+0x10 (/nowhere/prog)\n  %s:3\n\n' "$file" |
		auger annotate work - 2>&1 | sed "s,$PWD,PWD,"
done
