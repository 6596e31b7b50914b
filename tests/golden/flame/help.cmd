auger flame --help
