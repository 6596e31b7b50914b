cat >report.json <<'END'
{
  "input": "a.apk",
  "profile": {
    "stages": [
      {
        "stage": "extract",
        "calls": 2,
        "wall_s": 1.5
      }
    ]
  }
}
{"stages":[{"stage":"extract","calls":1,"wall_s":1}]}
{
  "stages": [
    {"stage": "extract", "calls": 3, "wall_s": "1"}
  ]
}
{
  "stages": [{"stage": "extract",
END
auger stages report.json -f csv | cut -d , -f 1-4,37-
auger stages --strict report.json
