# What is refused before anything is mounted.
auger control --help
auger control
echo $?
auger control one two
echo $?
auger control nowhere
echo $?
touch file
auger control file
echo $?
auger control --group no-such-group .
echo $?
auger control --event heat .
echo $?
