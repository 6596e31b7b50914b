auger doctor now
auger doctor -f xml
