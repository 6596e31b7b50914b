# SPDX-License-Identifier: MIT
# Completion for fish, by the tables that auger prints: see auger.bash.

# The options and verbs of the command of WORD..., or the options of its verb.
function __auger_table
    set -l words $argv
    set -l table ($words[1] $words[2] --complete 2>/dev/null)
    if set -q words[3]; and string match -rqv '^-' -- $table
        # Verbs come with a summary, after a tab.
        for line in $table
            if test (string split \t -- $line)[1] = $words[3]
                $words[1] $words[2] $words[3] --complete 2>/dev/null
                return
            end
        end
    end
    printf '%s\n' $table
end

# __auger_value OPTION WORD PREFIX TABLE...: the values of an option, each behind PREFIX. Status 1: it takes none.
function __auger_value
    for line in $argv[4..]
        set -l parts (string split -m 1 = -- $line)
        if set -q parts[2]; and contains -- $argv[1] (string split ' ' -- $parts[1])
            if test -n "$parts[2]"
                printf '%s\n' $argv[3](string split '|' -- $parts[2])
            else if test -z "$argv[3]"
                __fish_complete_path $argv[2]
            end
            return 0
        end
    end
    return 1
end

function __auger_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    if test (count $words) -eq 1
        $words[1] --complete 2>/dev/null
        printf '%s\n' help version --help --version
        return
    end
    if test $words[2] = help
        test (count $words) -gt 2; or $words[1] --complete 2>/dev/null
        return
    end
    # The program to run and its arguments, as if they were the line.
    if set -l dashes (contains -i -- -- $words)
        set -l program $words[(math $dashes + 1)..]
        if set -q program[1]
            complete -C (string join ' ' -- (string escape -- $program) "$word")
        else
            complete -C "$word"
        end
        return
    end
    set -l table (__auger_table $words)
    set -l verbs (string match -rv '^-' -- $table)
    if test (count $words) -eq 2; and test -n "$verbs"; and not string match -q -- '-*' "$word"
        printf '%s\n' $verbs
        return
    end
    if set -l assigned (string match -r -- '^(--[a-z-]+)=(.*)' "$word")
        __auger_value $assigned[2] $assigned[3] $assigned[2]= $table
        return
    end
    __auger_value $words[-1] "$word" '' $table; and return
    if string match -q -- '-*' "$word"
        string split ' ' -- (string match -r -- '^-.*' $table | string replace -r '=.*' '')
    else
        __fish_complete_path $word
    end
end

complete -c auger -f -a '(__auger_complete)'
