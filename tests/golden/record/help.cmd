auger record --help
