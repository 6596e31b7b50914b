auger recrod -- true || echo $?
auger Report
auger frobnicate
