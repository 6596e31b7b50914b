auger view --help
