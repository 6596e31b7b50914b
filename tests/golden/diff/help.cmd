auger diff --help
