cd "$GOLDEN" && for view in --tree --callers=. --by=comm --by=line; do
	auger report $view -f json hostile.pb.gz | python3 -c "
import json, sys
data = json.loads(sys.stdin.buffer.read().decode(\"utf-8\"))
print(len(data[\"rows\"]), ascii(data[\"rows\"][1]))"
done
