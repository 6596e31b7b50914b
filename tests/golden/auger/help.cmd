auger --help
