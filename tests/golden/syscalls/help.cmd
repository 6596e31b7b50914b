auger syscalls --help
