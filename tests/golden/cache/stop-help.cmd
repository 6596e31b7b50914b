auger cache stop --help
