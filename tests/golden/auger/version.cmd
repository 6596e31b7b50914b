auger --version
auger version
