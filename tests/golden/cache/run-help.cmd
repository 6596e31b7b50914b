auger cache run --help
