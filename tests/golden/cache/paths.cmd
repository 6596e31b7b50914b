cp -R "$GOLDEN/job" .
auger cache paths --output-dir lists job
head -n 100 lists/*
auger cache paths --help
