auger --version >/dev/full
