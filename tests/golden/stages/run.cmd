# A program that writes a report as the library would, and one that does not.
unset LD_PRELOAD PYTHONMALLOC
program='echo "$AUGER_STAGES"; echo "{\"stages\": [{\"stage\": \"$0\", \"calls\": 1, \"wall_s\": 2}]}" >"${AUGER_STAGES_OUT%%%*}$0.jsonl"; exit 3'
auger stages run --level time -- sh -c "$program" fit 2>/dev/null
echo status $?
auger stages run --reports kept -f csv -- sh -c "$program" fit 2>words | cut -d , -f 1,3
tail -n 1 words
ls kept
auger stages run -- false 2>/dev/null
echo status $?
auger stages run --reports kept -- nosuch-program 2>&1 | grep -v heap
auger stages run
auger stages --level time kept
