auger cache reset --help
