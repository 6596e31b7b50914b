mkdir runs
for i in 1 2; do cp "$GOLDEN/../report/demo.pb.gz" runs/$i.pb.gz; done
auger report runs/1.pb.gz -f csv -n 1
auger annotate fill runs/1.pb.gz 2>/dev/null | grep '^#'
auger annotate fill runs runs/1.pb.gz 2>/dev/null | grep '^#'
auger annotate
