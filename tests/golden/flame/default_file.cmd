auger flame
