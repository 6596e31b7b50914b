# Several runs a side: "slower" is beyond their spread, "noisy" is not.
side() { for i in 1 2 3; do printf 'main;slower %d\nmain;noisy %d\nmain;same 50\n' "$(($2 + i))" "$(($1 * i * i))" >"$3$i.folded"; done; }
side 20 100 a
side 30 200 b
auger diff a1.folded a2.folded a3.folded -- b1.folded b2.folded -n 3 b3.folded
auger diff --normalize total -f csv a1.folded a2.folded -- b1.folded
auger diff -- a1.folded b1.folded | tail -n 3
auger diff a1.folded a2.folded b1.folded
auger diff a1.folded -- a2.folded missing.folded
auger diff --normalize 1:2 -f json a1.folded a2.folded -- b1.folded b2.folded | grep slower
