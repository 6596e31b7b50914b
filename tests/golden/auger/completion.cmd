# The words of a line and what data/auger.bash makes of its last one.
cat >tool <<'TOOL'
#!/bin/sh
case $* in
--complete) printf 'record\tsample\nreport\tshow\nflame\tdraw\n' ;;
'report --complete') printf -- '-n --count=\n-f --format=table|csv|json\n--tree\n' ;;
'cache --complete') printf -- '-h --help\nrun\trun it\nreset\treset it\nmount\tmount it\n' ;;
'cache mount --complete') printf -- '-t --target=\n' ;;
esac
TOOL
chmod +x tool
mkdir bin
cp tool bin/my-solver
PATH=$PWD/bin:$PATH
complete() {
	bash --norc -c '
		source "$GOLDEN/../../../data/auger.bash"
		COMP_WORDS=("$@")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_auger
		printf "%s:" "${COMP_WORDS[*]}"
		printf " %s" "${COMPREPLY[@]}"
		printf "\n"' bash "$@"
}
complete ./tool ''
complete ./tool re
complete ./tool --
complete ./tool help re
complete ./tool report -
complete ./tool report --f
complete ./tool report --format =
complete ./tool report --format = c
complete ./tool report --format ''
complete ./tool report -f ta
complete ./tool report -n ''
complete ./tool report --tree ''
complete ./tool report file
complete ./tool unknown -
complete ./tool record -- my-sol
complete ./tool record -- my-solver --x
complete ./tool cache r
complete ./tool cache mount -
