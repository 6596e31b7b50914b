cp "$GOLDEN/demo.pb.gz" p.pb.gz
auger report p.pb.gz >&-
echo $?
auger report p.pb.gz <&- >&- 2>&-
echo $?
auger flame p.pb.gz -o x.svg <&- >&- 2>&-
echo $?
head -c 5 x.svg
cmp "$GOLDEN/demo.pb.gz" p.pb.gz
auger report - <&-
