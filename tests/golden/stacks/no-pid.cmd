auger stacks
