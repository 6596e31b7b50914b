auger frobnicate
