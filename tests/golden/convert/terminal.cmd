# Text is fit for a terminal, other formats are not.
printf 'a 1\n' >in.folded
script -qec 'auger convert in.folded --to folded' /dev/null </dev/null | tr -d '\r'
script -qec 'auger convert in.folded --to pprof' /dev/null </dev/null | tr -d '\r'
