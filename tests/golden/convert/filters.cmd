printf 'main;read;parse 1\nmain;write 2\nmain;read 4\n' >in.folded
auger convert in.folded --to folded --focus 'rea?d$'
echo
auger convert in.folded --to folded --ignore parse --focus read
auger convert in.folded --to folded --focus '('
