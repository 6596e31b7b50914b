#!/bin/bash
# SPDX-License-Identifier: MIT
# Called by conda-build, which sets the variables.
set -eu
meson setup build-conda --prefix "$PREFIX" --libdir lib --buildtype plain --wrap-mode nodownload \
	-Dpython_program="$PYTHON" -Dpython_dir="$SP_DIR" \
	-Dbpf=disabled -Ddisassembly=enabled -Ddocs=enabled -Dfortran=enabled -Dfuse=enabled -Dofi=enabled \
	-Doverlay=enabled -Dpmix=disabled -Dpython=enabled -Dtop=enabled
ninja -C build-conda -j "${CPU_COUNT:-2}"
meson install -C build-conda --no-rebuild
