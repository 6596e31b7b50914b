# The options of the command are its own.
auger stages run echo -n --rows -v
auger stages --level time run -- echo --level x
auger stages run --rows 1 echo run
