auger report --help
