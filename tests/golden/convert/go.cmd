auger convert "$GOLDEN/go_goroutine.txt" --to folded
auger convert "$GOLDEN/go_heap.txt" -o heap.pb.gz && auger report heap.pb.gz --by line
for type in alloc_objects alloc_space inuse_objects; do auger convert "$GOLDEN/go_heap.txt" --to folded --value $type; done
auger convert "$GOLDEN/go_mutex.txt" --to folded
auger convert "$GOLDEN/go_mutex.txt" --to folded --value contentions
auger convert "$GOLDEN/go_panic.txt" --to folded
auger convert - --stackcollapse <"$GOLDEN/go_panic.txt"
