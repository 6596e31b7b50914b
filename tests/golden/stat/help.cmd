auger stat --help
