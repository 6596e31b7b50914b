auger cache; echo $?
auger cache mount; echo $?
auger cache mount --budget 5x v; echo $?
auger cache mount -tpath; echo $?
auger cache mount --budget 10K v; echo $?
auger cache umount a b; echo $?
auger cache umount --budget 1G v; echo $?
auger cache mount --lazy v; echo $?
auger cache mont v; echo $?
auger cache mount -f v; echo $?
