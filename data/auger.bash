# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for auger. The words come from auger's own option tables: `auger --complete` prints
# the commands, `auger COMMAND --complete` the options of one ("--name=" takes a value).

_auger_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_auger() {
	local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} tool=${COMP_WORDS[0]} i
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$("$tool" --complete 2>/dev/null | cut -f 1) --help --version" -- "$current")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			# What follows is a program with its own completion, if it has one.
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			else
				_auger_files "$current"
			fi
			return
		fi
	done
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$tool" "$command" --complete 2>/dev/null) --help" -- "$current")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
		return
	fi
	_auger_files "$current"
}

complete -F _auger auger
