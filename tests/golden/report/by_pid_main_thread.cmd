# A process has the name of its main thread, whatever the others cost.
thread() {
	printf 'f %s\n' "$1" | auger merge - --label pid="$2" --label tid="$3" --label comm="$4" -o "$4".pb.gz
}
thread 1 7 7 main
thread 9 7 8 worker
thread 3 9 10 late
thread 5 9 11 later
auger merge main.pb.gz worker.pb.gz late.pb.gz later.pb.gz -o all.pb.gz
auger report --by pid all.pb.gz
