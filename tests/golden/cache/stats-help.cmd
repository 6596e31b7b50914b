auger cache stats --help
