cat >bad.jsonl <<'END'
{"stages":[{"stage":"a","calls":1,"wall_s":1.7469999999999999}]}
{"stages":[{"stage":"a","calls":-1,"wall_s":5}]}
{"stages":[{"stage":"a","calls":1,"wall_s":-5}]}
{"stages":[{"stage":"a","calls":1e400,"wall_s":1}]}
{"stages":[{"stage":"a","calls":1,"wall_s":"1"}]}
{"stages":[{"stage":"a","calls":1,"wall_s":1}]} {"stages":[]}
{"stages":[{"stage":"a","calls":1,"wall_s":NaN,"rss_kb_delta":-8}]}
{"stages":[{"stage":"a","calls":1,"wall_s":9},{"calls":1}]}
{"stages":[{"stage":"a","calls":1,"wall_s":0.25
END
printf '{"stages":[{"stage":"a","calls":1,"wall_s":1,"wall_s":2}]}' >>bad.jsonl
auger stages bad.jsonl -f csv | cut -d , -f 1-5,23
