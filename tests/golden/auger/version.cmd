auger --version
