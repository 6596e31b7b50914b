# SPDX-License-Identifier: MIT
"""The types that the package declares are those that it has: names of methods, and their parameters."""

import ast
import inspect
import os

import auger
import tap

FOLDER = os.path.dirname(auger.__file__)
with open(f"{FOLDER}/__init__.pyi", encoding="utf-8") as stub:
    DECLARED = {node.name: node for node in ast.parse(stub.read()).body
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}


def members(declared):
    """Functions by name, and the names of what is a value."""
    functions, values = {}, set()
    for node in declared.body:
        if isinstance(node, ast.AnnAssign):
            values.add(node.target.id)
        elif node.decorator_list:
            values.add(node.name)
        else:
            functions[node.name] = node.args
    return functions, values


def names(args):
    """The parameters without self: those by position, those by name."""
    positional = [arg.arg for arg in args.posonlyargs + args.args][1:]
    return positional, [arg.arg for arg in args.kwonlyargs]


def test_marked():
    assert os.path.exists(f"{FOLDER}/py.typed")
    tap.equal(sorted(DECLARED), sorted(auger.__all__))


def test_members():
    for name, declared in DECLARED.items():
        functions, values = members(declared)
        public = {key for key in dir(getattr(auger, name)) if not key.startswith("_")}
        tap.equal(sorted(public), sorted(key for key in set(functions) | values if not key.startswith("_")))


def test_parameters():
    for name, declared in DECLARED.items():
        for key, args in members(declared)[0].items():
            function = getattr(getattr(auger, name), key)
            if not inspect.isfunction(function):
                continue  # of the extension, which has no signatures
            real = list(inspect.signature(function).parameters.values())[1:]
            positional = [p.name for p in real if p.kind == p.POSITIONAL_OR_KEYWORD]
            by_name = [p.name for p in real if p.kind == p.KEYWORD_ONLY]
            tap.equal((name, key, names(args)), (name, key, (positional, by_name)))


def test_results():
    """What the declared types say of values, at run time."""
    prof = auger.StageProfiler(out="")
    with prof, prof.stage("a"):
        assert prof.is_on is True and isinstance(prof.json(), str)
        assert isinstance(prof.report(), dict) and isinstance(prof.table(), str)
    assert prof.json() is None and prof.is_on is False
    null = auger.NullProfiler()
    with null as same, null.stage("a"):
        assert same is null and null.json() is None and null.report() == {} and null.is_on is False


tap.run(test_marked, test_members, test_parameters, test_results)
