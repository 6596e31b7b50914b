auger cache snapshot --help
