cd "$GOLDEN" && for order in change before after name; do
	auger diff --sort $order -n 3 before.pb.gz after.pb.gz | tail -n 5
done
