auger convert --help
