auger stacks --folded -f json -p 1
