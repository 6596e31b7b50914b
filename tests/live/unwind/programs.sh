#!/bin/sh
# SPDX-License-Identifier: MIT
# programs.sh PRELOAD SOURCE: real programs, sampled from within. At least 97 % of their stacks
# must be complete: no table describes all of the assembly in libcrypto. SOURCE is what the compiler
# compiles.
set -u
preload=$1
source=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0
failed=0

# check NAME COMMAND...
check() {
	name=$1
	shift
	number=$((number + 1))
	if ! command -v "$1" >/dev/null; then
		echo "ok $number - $name # SKIP not installed"
		return
	fi
	rm -f "$work/report"
	UNWIND_REPORT=$work/report LD_PRELOAD=$preload "$@" >"$work/out" 2>&1 ||
		cat "$work/out" >&2
	sed "s/^/$name: /" "$work/report" >&2
	if awk -F'[ ,]+' 'NR == 1 { ok = $1 >= 100 && $3 >= 0.97 * $1 } END { exit !ok }' \
		"$work/report"; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		failed=1
	fi
}

cat >"$work/work.py" <<'PY'
import hashlib, json, re, time

def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

end = time.time() + 1
while time.time() < end:
    fibonacci(15)
    json.loads(json.dumps({str(i): [i] * 5 for i in range(200)}))
    re.findall(r'(\w+)@(\w+)', 'abc@def ' * 50)
    hashlib.sha256(b'x' * 100000).hexdigest()
    sorted([str(i) for i in range(2000)], key=lambda s: s[::-1])
PY
# shellcheck disable=SC2016 # perl's own
perl_words='my %h; for my $i (1 .. 200000) { $h{"k" . $i % 1000} .= "x";
	$h{$1} = $2 if "abc$i" =~ /(\w+)(\d)/ } print scalar(sort { $h{$a} cmp $h{$b} } keys %h)'

check python3 /usr/bin/python3 "$work/work.py"
check cc1plus "$(gcc -print-prog-name=cc1plus)" -quiet -O2 -imultiarch "$(gcc -print-multiarch)" \
	-D_GNU_SOURCE "$source" -o "$work/out.s"
check perl perl -e "$perl_words"
check openssl openssl speed -seconds 1 -evp aes-256-gcm
echo "1..$number"
exit $failed
