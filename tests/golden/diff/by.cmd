cd "$GOLDEN" && for by in line module comm pid; do
	auger diff --by $by before.pb.gz after.pb.gz
done
