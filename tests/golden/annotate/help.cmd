auger annotate --help
