auger stages --help
