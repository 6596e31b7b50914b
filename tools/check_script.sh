#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the types of the modules of data/view, where TypeScript is installed. Before its version 5 it takes no
# tag behind words in a line; so it reads copies of the modules without those words, at the same lines.
set -u
cd "$(dirname "$0")/.." || exit 1
if ! command -v tsc >/dev/null; then
	echo 'no tsc here (package node-typescript): types of data/view are not checked' >&2
	exit 0
fi
copies=$(mktemp -d) || exit 1
trap 'rm -rf "$copies"' EXIT
for module in data/view/*.js; do
	sed -E 's|^([[:space:]]*/\*\*) [^@*]*@|\1 @|; s|^([[:space:]]*\*) [^@*/]*@|\1 @|' "$module" >"$copies/${module##*/}"
done
tsc --noEmit --allowJs --checkJs --strict --target es2022 --module es2022 --moduleResolution node \
	--lib es2022,dom,dom.iterable "$copies"/*.js | sed "s|^.*$(basename "$copies")/|data/view/|" >"$copies/found"
cat "$copies/found" >&2
[ ! -s "$copies/found" ]
