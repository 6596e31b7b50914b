auger cache launch --help
