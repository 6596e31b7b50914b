# The wrong path is found before the input is read.
auger flame missing.pb.gz -o missing/a.svg
