# A format that is named is believed; a format that is found must look like it.
printf 'a 1\nno value\n' >in.folded
auger convert in.folded --to folded
printf 'a 1\n' >in.folded
auger convert in.folded --from pprof --to folded
auger convert in.folded --from nonsense --to folded
printf 'hello\n' >hello.txt
auger convert hello.txt --to folded
