# What is recognized as what: a format is not taken for another, and not looked for without end.
printf 'x;y 5\n' | auger report -
printf 'main;foo 5\n\tbar;baz 1000\nmain;qux 7\n' | auger report -
printf '# a comment\nmain;foo 5\n  beef 1000\n' | auger report -
truncate -s 1T hole && auger report hole
printf 'a;b 1' >start && truncate -s 1T start && auger report start
auger report --from perfscript start
echo "status $?"
