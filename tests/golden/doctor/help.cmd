auger doctor --help
