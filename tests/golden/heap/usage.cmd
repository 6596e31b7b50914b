auger heap || echo $?
auger heap --show 1 -- true || echo $?
auger heap --show 1 --sample 1k || echo $?
auger heap --sample x -- true || echo $?
auger heap --follow fork -- true || echo $?
auger heap --show missing || echo $?
mkdir empty
auger heap --show empty || echo $?
auger heap --show 99999999999 || echo $?
