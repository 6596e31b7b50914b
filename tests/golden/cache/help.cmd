auger cache --help
