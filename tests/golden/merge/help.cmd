auger merge --help
