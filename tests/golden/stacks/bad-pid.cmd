auger stacks -p 12x
