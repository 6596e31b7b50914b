#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""completion.py AUGER DATA: what fish and zsh offer for a line. bash: tests/golden/auger/completion. TAP.

zsh's functions run without its line editor: those of its completion system are replaced by ones that
print what they are given."""
import os
import shutil
import subprocess
import sys
import tempfile

AUGER, DATA = (os.path.abspath(path) for path in sys.argv[1:3])

# Prints tables as auger does; beside it are the program my-solver and the files file1, file2.
TOOL = r"""#!/bin/sh
case $* in
--complete) printf 'record\tsample: a command\nreport\tshow\nflame\tdraw\n' ;;
'report --complete') printf -- '-n --count=\n-f --format=table|csv|json\n--tree\n' ;;
'cache --complete') printf -- '-h --help\nrun\ta command\nreset\treset it\nmount\tmount it\n' ;;
'cache mount --complete') printf -- '-t --target=\n' ;;
esac
"""
FILES = "bin file1 file2"
LINES = [
    ("auger ", "record report flame help version --help --version"),
    ("auger re", "record report"),
    ("auger --", "--help --version"),
    ("auger help re", "record report"),
    ("auger help report ", ""),
    ("auger report -", "-n --count -f --format --tree"),
    ("auger report --f", "--format"),
    ("auger report --format ", "table csv json"),
    ("auger report -f ta", "table"),
    ("auger report -n ", FILES),
    ("auger report --tree ", FILES),
    ("auger report fil", "file1 file2"),
    ("auger unknown -", ""),
    ("auger cache r", "run reset"),
    ("auger cache ", "run reset mount"),
    ("auger cache -", "-h --help"),
    ("auger cache mount -", "-t --target"),
    ("auger cache mount -t fi", "file1 file2"),
    ("auger cache reset -", ""),
]

ZSH = r"""
_call_program() { shift; "$@" 2>/dev/null }
_describe() { local from=$4; print -rl -- ${(@)${(P)from}%%:*} }
_files() { print -rl -- *(N) }
_normal() { print -r -- program $CURRENT ${(j: :)words} }
compset() { IPREFIX=${PREFIX%%=*}=; PREFIX=${PREFIX#*=} }
compadd() {
	local given
	if [[ $1 == -a ]]; then
		given=${@[-1]}
		print -rl -- ${(P)given}
	else
		print -rl -- ${@[2,-1]}
	fi
}
words=("$@")
CURRENT=$#words PREFIX=$words[-1]
set --
functions[complete_line]=$(<$DATA/_auger)
complete_line >$HOME/.offered
while read -r candidate; do
	[[ -z $candidate || ($candidate != $PREFIX* && $candidate != program*) ]] || print -r -- $IPREFIX$candidate
done <$HOME/.offered
"""


class Folder:
    """A folder with the tool and files, in which shells run."""

    def __init__(self, path):
        self.path = path
        os.mkdir(f"{path}/bin")
        for name, text in [("auger", TOOL), ("my-solver", "#!/bin/sh\n")]:
            with open(f"{path}/bin/{name}", "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(f"{path}/bin/{name}", 0o755)
        for name in ["file1", "file2"]:
            with open(f"{path}/{name}", "w", encoding="utf-8"):
                pass

    def run(self, *command, tool=True, **environment):
        first = f"{self.path}/bin" if tool else os.path.dirname(AUGER)
        done = subprocess.run(command, cwd=self.path, check=False, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={"PATH": f"{first}:{os.environ['PATH']}", "HOME": self.path, "DATA": DATA,
                                   "LC_ALL": "C.UTF-8", **environment})
        assert not done.stderr, done.stderr
        return done.stdout.splitlines()

    def fish(self, line, **options):
        script = 'source $DATA/auger.fish; complete -C "$LINE"'
        found = self.run("fish", "--no-config", "-c", script, LINE=line, **options)
        return {candidate.split("\t")[0].rstrip("/") for candidate in found}

    def zsh(self, line, **options):
        words = line.split(" ")
        return set(self.run("zsh", "-f", "-c", ZSH, "zsh", *words, **options))


def differences(complete):
    return [(line, sorted(found), expected) for line, expected in LINES
            if (found := complete(line)) != set(expected.split())]


def test_fish(folder):
    folder.run("fish", "--no-execute", f"{DATA}/auger.fish")
    assert not differences(folder.fish), differences(folder.fish)
    assert folder.fish("auger report --format=c") == {"--format=csv"}
    assert folder.fish("auger record -- my-sol") == {"my-solver"}
    assert folder.fish("auger record -- my-solver fil") == {"file1", "file2"}


def test_zsh(folder):
    folder.run("zsh", "-n", f"{DATA}/_auger")
    assert not differences(folder.zsh), differences(folder.zsh)
    assert folder.zsh("auger report --format=c") == {"--format=csv"}
    assert folder.zsh("auger record -- my-sol") == {"program 1 my-sol"}
    assert folder.zsh("auger record -- my-solver fil") == {"program 2 my-solver fil"}


def compare_with_auger(folder, complete):
    """The program's own tables: each command, and the options of a verb."""
    commands = {line.split("\t")[0] for line in folder.run(AUGER, "--complete")}
    assert commands <= complete("auger ", tool=False)
    assert {"--target", "-t"} <= complete("auger cache mount -", tool=False)
    assert complete("auger report -f ", tool=False) == {"table", "csv", "json"}


def test_fish_auger(folder):
    compare_with_auger(folder, folder.fish)


def test_zsh_auger(folder):
    compare_with_auger(folder, folder.zsh)


def main():
    bad = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for number, (name, test) in enumerate(tests, 1):
        shell = name.split("_")[1]
        if not shutil.which(shell):
            print(f"ok {number} - {name} # SKIP no {shell}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as path:
            try:
                test(Folder(path))
                print(f"ok {number} - {name}", flush=True)
            except AssertionError as error:
                bad = 1
                print(f"{name}: {error}", file=sys.stderr)
                print(f"not ok {number} - {name}", flush=True)
    print(f"1..{len(tests)}")
    return bad


sys.exit(main())
