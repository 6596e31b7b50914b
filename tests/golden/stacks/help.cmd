auger stacks --help
