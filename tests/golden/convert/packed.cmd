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
# Each kind from a pipe, by every command, and in layers.
for kind in xz zstd bzip2; do auger convert - --to folded <"$GOLDEN/../../fuzz/corpus/decode/$kind"; done
gzip -c "$GOLDEN/../../fuzz/corpus/decode/xz" | auger convert - --to folded
gzip -c p.pb.gz | auger merge - p.pb.gz --to folded
gzip -c p.pb.gz | auger flame - 2>/dev/null | grep -c '^total 3 samples'
gzip -c a | auger view - 2>/dev/null | grep -o '<title>.*</title>'
gzip -c a | auger diff stacks - -f csv | cut -d, -f1-3
mkdir runs; for kind in xz bzip2 gzip zstd; do cp "$GOLDEN/../../fuzz/corpus/decode/$kind" runs/$kind; done
cd runs && mv xz a.folded.xz && mv bzip2 b.folded.bz2 && mv gzip c.folded.gz && mv zstd d.collapsed.zst; cd ..
auger report runs -f csv | cut -d, -f1,5
