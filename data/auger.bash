# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for auger. The words come from auger's own tables: `auger --complete` prints the
# commands, `auger COMMAND --complete` the options and verbs of one, `auger COMMAND VERB --complete`
# the options of a verb. Where none of them fits, file names are completed.

# _auger_words WORD CANDIDATE...: those that WORD starts.
_auger_words() {
	mapfile -t COMPREPLY < <(compgen -W "${*:2}" -- "$1")
}

# _auger_value WORD OPTION TABLE: the values of an option. Status 1: it takes none.
_auger_value() {
	local line names choices
	while read -r line; do
		names=" ${line%%=*} "
		[[ $names == *" $2 "* && $line == *=* ]] || continue
		choices=${line#*=}
		[[ $choices ]] && _auger_words "$1" "${choices//|/ }"
		return 0
	done <<<"$3"
	return 1
}

# _auger_program INDEX: the program to run and its arguments, from this word on.
_auger_program() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	fi
}

_auger() {
	local tool=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local table verbs i
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		_auger_words "$word" "$("$tool" --complete 2>/dev/null | cut -f 1)" help version --help --version
		return
	fi
	if [[ ${COMP_WORDS[1]} == help ]]; then
		((COMP_CWORD == 2)) && _auger_words "$word" "$("$tool" --complete 2>/dev/null | cut -f 1)"
		return 0
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			_auger_program $((i + 1))
			return
		fi
	done
	table=$("$tool" "${COMP_WORDS[1]}" --complete 2>/dev/null)
	verbs=$(grep -v '^-' <<<"$table" | cut -f 1)
	if [[ $verbs && $word != -* ]] && ((COMP_CWORD == 2)); then
		_auger_words "$word" "$verbs"
		return
	fi
	if [[ $verbs ]] && grep -qx -e "${COMP_WORDS[2]}" <<<"$verbs"; then
		table=$("$tool" "${COMP_WORDS[1]}" "${COMP_WORDS[2]}" --complete 2>/dev/null)
	fi

	# The shell makes three words of "--name=value".
	if [[ $word == = ]]; then
		_auger_value "" "$previous" "$table"
	elif [[ $previous == = ]]; then
		_auger_value "$word" "${COMP_WORDS[COMP_CWORD - 2]}" "$table"
	elif _auger_value "$word" "$previous" "$table"; then
		:
	elif [[ $word == -* ]]; then
		_auger_words "$word" "$(tr ' ' '\n' <<<"$table" | sed 's/=.*/=/')"
		[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	fi
	return 0
}

complete -o bashdefault -o default -F _auger auger
