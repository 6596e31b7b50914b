auger help >help && auger --help | cmp - help
auger help diff | head -n 1
auger help diff cost | head -n 1
auger help cache stats | head -n 1
auger help repotr || echo $?
auger help cache stats more | head -n 1
