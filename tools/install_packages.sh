#!/bin/sh
# SPDX-License-Identifier: MIT
# install_packages.sh [--missing] LIST...: installs the Debian packages of packages/LIST.txt that
# dpkg does not have; silent when there are none. --missing prints their names instead.
set -u
cd "$(dirname "$0")/.." || exit 1

only_names=false
if [ "${1:-}" = --missing ]; then
	only_names=true
	shift
fi

if ! command -v dpkg-query >/dev/null; then
	$only_names || echo "packages: no dpkg here; packages/*.txt list what auger needs by its Debian names" >&2
	exit 0
fi

packages=$(for list; do cat "packages/$list.txt"; done | tr '\n' ' ')
# shellcheck disable=SC2086 # words
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages 2>/dev/null |
	sed -n 's/ installed$//p')
missing=
for package in $packages; do
	echo "$installed" | grep -qxF -- "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if $only_names; then
	echo "$missing"
	exit 0
fi

install="apt-get install -y --no-install-recommends$missing"
as_root=
if [ "$(id -u)" -eq 0 ]; then
	as_root="env"
elif [ -t 0 ] || sudo -n true 2>/dev/null; then
	as_root="sudo env" # may ask for a password
fi
if [ -n "$as_root" ] && command -v "${as_root%% *}" >/dev/null; then
	echo "packages: installing$missing"
	# shellcheck disable=SC2086 # words
	$as_root apt-get update -q && $as_root DEBIAN_FRONTEND=noninteractive $install && exit 0
fi
cat >&2 <<MESSAGE
packages: cannot install the missing packages; as root, run
  apt-get update && $install
MESSAGE
exit 1
