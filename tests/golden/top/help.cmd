auger top --help
