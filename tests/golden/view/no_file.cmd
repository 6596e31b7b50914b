auger view
