auger
