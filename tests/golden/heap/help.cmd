auger heap --help
