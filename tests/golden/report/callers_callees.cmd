cd "$GOLDEN" && auger report --callers 'scale|fill' --callees '^fill' demo.pb.gz
auger report --callers work --callees work --by module demo.pb.gz
auger report --callers scale --by line demo.pb.gz
