auger convert --list
