auger cache mount --help
