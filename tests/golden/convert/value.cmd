printf 'a;b 1 20\na;c 3 0\n' >diff.folded
auger convert diff.folded --to folded
echo
auger convert diff.folded --to folded --value before
auger convert diff.folded --value before -o before.pb.gz
echo
auger convert before.pb.gz --to folded
auger convert diff.folded --to folded --value cpu
