cd "$GOLDEN" && for by in total duration requests 100:120; do
	auger diff --normalize $by -n 3 before.pb.gz after.pb.gz
done
auger diff --normalize total -f json -n 1 before.pb.gz after.pb.gz
