# What reads profiles reads these, by each sample type.
python3 "$GOLDEN/make_heap.py" heap.1.0
python3 "$GOLDEN/make_heap.py" heap.2.0 is_peaking=1
auger heap --show heap.1.0 -o before.pb.gz | head -n 1
auger heap --show heap.2.0 -o after.pb.gz | head -n 1
auger convert before.pb.gz --to folded --value inuse_space
auger diff --value peak_space before.pb.gz after.pb.gz
auger merge before.pb.gz after.pb.gz -o both.pb.gz
auger report both.pb.gz --value temporary_objects -n 1 | tail -n 2
auger flame --value alloc_space both.pb.gz -o heap.svg
auger report before.pb.gz --value nothing
