auger relocate --help
