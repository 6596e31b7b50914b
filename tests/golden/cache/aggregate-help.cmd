auger cache aggregate --help
