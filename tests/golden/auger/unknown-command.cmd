auger recrod -- true || echo $?
auger "$(printf 'a\302\233b\342\200\256c\342\200\213')" || echo $?
auger Report
auger frobnicate
