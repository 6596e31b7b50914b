#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed_page.py OUT.c STYLE.css MODULE.js...: style and script of pages as C (page_files.h).

The ES modules become one function, in this order: a module comes after those that it imports from.
Imports, the word export, comments that begin a line and indentation are left out; so no name may be
declared twice at the top of two modules, and imports rename nothing.
"""
import base64
import hashlib
import re
import sys

sys.dont_write_bytecode = True
import embed_rows  # noqa: E402

IMPORT = re.compile(r"^import \{([^}]*)\} from '\./(\w+)\.js';\n", re.M)


def read(path):
    with open(path, encoding='ascii') as file:
        return file.read()


def without_comments(text):
    text = re.sub(r'^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n', '', text, flags=re.M | re.S)
    lines = (line.strip() for line in text.split('\n'))
    return '\n'.join(line for line in lines if line and not line.startswith('//'))


def exported(text):
    return set(re.findall(r'^export (?:async )?(?:function|const|class|let) (\w+)', text, re.M))


def declared(text):
    """Names at the top of a module."""
    text = re.sub(r'^export ', '', text, flags=re.M)
    names = re.findall(r'^(?:async )?(?:function|class) (\w+)', text, re.M)
    for line in re.findall(r'^(?:const|let) (.*)', text, re.M):
        names += re.findall(r'(?:^|, )(\w+) =(?!=|>)', line)
    return names


def join(paths):
    """The script; an import of what no module before it exports is an error."""
    parts, known, owners = [], {}, {}
    for path in paths:
        text = read(path)
        for name in declared(text):
            if name in owners:
                sys.exit(f'{path}: {owners[name]} declares {name!r}, too')
            owners[name] = path
        for names, module in IMPORT.findall(text):
            for name in (word.strip() for word in names.split(',')):
                if name and name not in known.get(module, ()):
                    sys.exit(f'{path}: {module}.js, before it, does not export {name!r}')
        known[path.rsplit('/', 1)[-1][:-3]] = exported(text)
        text = IMPORT.sub('', text)
        text = re.sub(r'^export ', '', text, flags=re.M)
        if re.search(r'^(import|export)\b', text, re.M):
            sys.exit(f'{path}: an import or export of another form')
        parts.append(without_comments(text))
    script = '(() => {\n\'use strict\';\n' + '\n'.join(parts) + '\n})();\n'
    if re.search(r'</script|<!--', script, re.I):
        sys.exit('the script has what ends it in HTML')
    return script


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main():
    style, script = without_comments(read(sys.argv[2])), join(sys.argv[3:])
    policy = (f"default-src 'none'; script-src {hash_of(script)}; style-src {hash_of(style)}; "
              "base-uri 'none'; form-action 'none'")
    embed_rows.write(sys.argv[1], {'page_css': style.encode(), 'page_js': script.encode(),
                                   'page_policy': policy.encode()})


if __name__ == '__main__':
    main()
