printf 'main;read;parse 3\nmain;read 4\nstart 1\n' >in.folded
auger merge --label pid=7 --label comm={file} in.folded -o in.pb.gz
auger convert in.pb.gz --to firefox
