# A folder stands for its profiles: in order of name, whatever the format; other files are skipped.
mkdir -p runs/deeper runs/.hidden
printf 'main;a 1\n' >runs/b.folded
printf 'main;b 2\n' >runs/a.folded && gzip runs/a.folded
printf 'main;c 4\n' >deep.folded && cp deep.folded runs/deeper && cp deep.folded runs/.c.folded
ln -s "$PWD/deep.folded" runs/link.folded
ln -s . runs/loop
mkfifo runs/pipe.folded
echo 'no profile' >runs/README
printf 'step 1\nstep 2\n' >runs/log.txt
: >runs/empty
printf '\037\213\010garbage that is no gzip' >runs/backup.tar.gz
auger merge runs --label n --label file={file} -o sum.pb.gz -v 2>&1 | grep -E 'skipped'
for n in 0 1; do auger convert sum.pb.gz --to folded --label n=$n; done
auger convert sum.pb.gz --to folded --label file=a.folded.gz
# Folders and files may stand together; each name counts once more.
auger merge runs/ deep.folded runs --to folded 2>/dev/null
# The result is not an input of the next time.
for i in 1 2; do
	auger merge runs -o runs/sum.pb.gz 2>/dev/null
	auger convert runs/sum.pb.gz --to folded
done
# What has the name of a profile must be one; errors name the file.
echo keep >out.folded
try() {
	auger merge "$@" -o out.folded 2>err
	echo "$? $(cat out.folded) $(tail -n 1 err)"
}
head -c 60 runs/sum.pb.gz >runs/cut.pb.gz
try runs
rm runs/cut.pb.gz
printf 'a 1 2\n' >runs/two.folded
try runs
mkdir none other
try none
echo text >other/text
try other
try --from folded other
try missing/
