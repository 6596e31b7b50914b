# A file of a process, one of a sampled one, a folder of several with one that is cut, and none.
mkdir job
python3 "$GOLDEN/make_heap.py" heap.1.0
python3 "$GOLDEN/make_heap.py" sampled period=524288 threads=4 missed=3
python3 "$GOLDEN/make_heap.py" job/heap.1.0
python3 "$GOLDEN/make_heap.py" job/heap.2.0 pid=4712 is_peaking=1
head -c 70000 heap.1.0 >job/heap.3.0
auger heap --show heap.1.0 -o heap.pb.gz
auger report heap.pb.gz
auger report --tree --value inuse_space heap.pb.gz
auger report --by pid --value alloc_objects heap.pb.gz
auger heap --show sampled
auger heap --show job
python3 "$GOLDEN/make_heap.py" heap.9.0 version=2
auger heap --show heap.9.0
