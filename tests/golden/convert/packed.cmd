# Unpacked before the format is looked at, whatever the name is, also from a pipe.
printf 'main;f 3\n' >stacks
gzip -c stacks >a; cat a a >b
auger convert a --to folded
cat b | auger convert - --to folded
auger convert --from folded a --to folded
auger convert a -o p.pb.gz && gzip -c p.pb.gz | auger report - | tail -n 1
printf '\377\376f\000 \0003\000\n\000' | auger convert - --to folded
printf '\050\265\057\375\040\004\041\000\000f 3\n' >c.pb.gz
auger convert c.pb.gz --to folded
head -c 10 c.pb.gz >cut; auger convert cut --to folded
{ echo @[; echo '    f+1'; echo ']: 3'; } | gzip | auger convert - --stackcollapse
