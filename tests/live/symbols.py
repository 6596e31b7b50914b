#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What auger says of addresses against addr2line, nm, objdump and c++filt.

usage: symbols.py SYMBOL_DUMP FOLDER [CASE...]

Programs are compiled here, in many ways; every address of their code is asked for. The peers
are known to err where a case says so.
"""
import os
import random
import re
import shutil

import live

CXX = r"""
#include <algorithm>
#include <map>
#include <string>
#include <vector>
namespace shop {
template <class T> struct Basket {
	std::vector<T> items;
	inline T total() const { T sum{}; for (auto &i : items) sum += twice(i); return sum; }
	static inline T twice(const T &t) { auto f = [](const T &x) { return x + x; }; return f(t); }
	__attribute__((noinline)) void sort() { std::sort(items.begin(), items.end()); }
};
static __attribute__((noinline)) int count(const std::map<std::string, int> &m)
{
	int n = 0;
	for (auto &e : m) n += e.second > 0 && !e.first.empty();
	return n;
}
}
int main(int argc, char **argv)
{
	shop::Basket<int> ints; shop::Basket<std::string> words; std::map<std::string, int> m;
	for (int i = 0; i < argc; i++) { ints.items.push_back(i); words.items.push_back(argv[i]); m[argv[i]]++; }
	ints.sort(); words.sort();
	return ints.total() + (int)words.total().size() + shop::count(m);
}
"""

C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static inline int square(int x) { return x * x; }
static inline int cube(int x) { return square(x) * x; }
__attribute__((noinline)) int polynomial(int x) { int s = 0; for (int i = 0; i < x; i++) s += cube(i) - square(i); return s; }
__attribute__((noinline, cold)) void complain(const char *why) { fprintf(stderr, "%s\n", why); abort(); }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((weak)) int weak_one(int x) { return polynomial(x) + 1; }
int weak_alias(int x) __attribute__((alias("weak_one")));
int main(int argc, char **argv)
{
	int numbers[] = { 3, argc, 1 };
	int (*out)(const char *) = puts;
	qsort(numbers, 3, sizeof numbers[0], compare);
	if (numbers[0] > argc) complain(argv[0]);
	out("hello");
	printf("%d %zu %d\n", polynomial(numbers[1]), strlen(argv[0]), weak_alias(4));
	return getenv("X") != NULL;
}
"""

GO = """
package main

import "os"

type tree struct{ left, right *tree }

//go:noinline
func (t *tree) count() int {
	if t == nil {
		return 0
	}
	return 1 + t.left.count() + t.right.count()
}

func main() {
	t := &tree{&tree{}, nil}
	os.Exit(t.count())
}
"""

FORTRAN = """
program contained
  implicit none
  integer :: n
  n = command_argument_count()
  print *, outer(n + 3)
contains
  integer function outer(x)
    integer, intent(in) :: x
    outer = inner(x) + inner(x + 1)
  end function
  integer function inner(x)
    integer, intent(in) :: x
    integer :: i
    inner = 0
    do i = 1, x
      inner = inner + mod(i * x, 7)
    end do
  end function
end program
"""

RUST = r"""
use std::collections::BTreeMap;
mod shop {
    pub struct Basket<T> { pub items: Vec<T> }
    impl<T: Copy + std::ops::Add<Output = T> + Default> Basket<T> {
        #[inline(always)]
        pub fn total(&self) -> T { self.items.iter().fold(T::default(), |a, &b| twice(a + b)) }
    }
    #[inline(always)]
    fn twice<T: Copy + std::ops::Add<Output = T>>(x: T) -> T { let f = |y: T| y + y; f(x) }
}
#[inline(never)]
fn count(words: &BTreeMap<String, u32>) -> usize { words.iter().filter(|(k, v)| !k.is_empty() && **v > 0).count() }
fn main() {
    let mut words = BTreeMap::new();
    let mut basket = shop::Basket { items: Vec::new() };
    for (i, word) in std::env::args().enumerate() {
        *words.entry(word).or_insert(0) += 1;
        basket.items.push(i as u64);
    }
    basket.items.sort_unstable_by(|a, b| b.cmp(a));
    println!("{} {}", basket.total(), count(&words));
}
"""

LOCAL = r"""
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>
#include <map>
namespace shop {
static inline int count(const std::vector<int> &v) { int n = 0; for (int x : v) n += x % 3; return n; }
namespace { struct Hidden { int v; inline int get(int k) const { return v * k ^ k >> 1; } }; inline int nameless(int x) { Hidden h{x}; return h.get(x) + x; } }
class Registry {
	std::vector<int> items;
public:
	inline void add(int x) { items.push_back(nameless(x)); }
	int size() const { return count(items); }
	template <class F> inline int each(F f) const { int n = 0; for (int x : items) n += f(x); return n; }
};
}
__attribute__((noinline)) static int work(int n)
{
	struct Local {
		int base;
		__attribute__((noinline)) int deep(int k) const { int s = 0; for (int i = 0; i < k; i++) s += helper(i); return s; }
		inline int helper(int i) const { return base * i + i % 7; }
	};
	Local l{n};
	return l.deep(n);
}
template <class T> __attribute__((noinline)) T fold(const std::vector<T> &v) { auto plus = [](T a, T b) { return a + b; }; T s{}; for (auto &x : v) s = plus(s, x); return s; }
extern "C" int c_name(int x) { auto sq = [&](int y) { return y * x; }; return sq(x) + sq(3); }
int main(int argc, char **argv)
{
	shop::Registry r;
	std::vector<int> v;
	for (int i = 0; i < argc * 1000; i++) { r.add(i); v.push_back(i ^ 3); }
	auto heavy = [&](int k) __attribute__((noinline)) { int s = 0; for (int x : v) s += shop::count(v) * x % (k + 1); shop::Registry q; q.add(s); return s + q.size(); };
	std::function<int(int)> f = [&r](int x) { return r.each([x](int y) { return y % (x + 1) ? shop::nameless(y) : x; }); };
	std::sort(v.begin(), v.end(), [](int a, int b) { return a % 17 < b % 17; });
	std::map<std::string, int> m; for (int i = 0; i < argc; i++) m[argv[i]]++;
	std::printf("%d %d %d %d %d\n", heavy(argc), f(argc), work(argc), fold(v), c_name(argc) + (int)m.size());
}
"""

MODULE = """
module shop
  implicit none
contains
  integer function count3(v)
    integer, intent(in) :: v(:)
    integer :: i
    count3 = 0
    do i = 1, size(v)
      count3 = count3 + weigh(v(i))
    end do
  end function
  integer function weigh(x)
    integer, intent(in) :: x
    weigh = mod(x * 3, 7) + x
  end function
end module
program main
  use shop
  implicit none
  integer :: v(100), n
  n = command_argument_count()
  v = n + 3
  print *, outer(n + 3), count3(v)
contains
  integer function outer(x)
    integer, intent(in) :: x
    outer = inner(x) + inner(x + 1) + weigh(x)
  end function
  integer function inner(x)
    integer, intent(in) :: x
    integer :: i
    inner = 0
    do i = 1, x
      inner = inner + mod(i * x, 7)
    end do
  end function
end program
"""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise live.Skip(f"{tool} is not installed")


def compile_to(bench, output, source, *flags, compiler="g++", suffix=".cc"):
    with open(bench.path(output + suffix), "w", encoding="utf-8") as f:
        f.write(source)
    bench.run(compiler, "-w", *flags, "-o", output, output + suffix)


def functions(bench, path, *flags):
    """[(address, size, name)] of the functions that nm knows."""
    rows = [line.split() for line in bench.run("nm", "-S", "--defined-only", *flags, path).stdout.splitlines()]
    return [(int(r[0], 16), int(r[1], 16), re.sub("@.*", "", r[3])) for r in rows
            if len(r) == 4 and r[2] in "tTwWi" and int(r[1], 16) and "stapsdt" not in r[3]]


def every_address(bench, path, limit=5000):
    addresses = {a + i for a, size, _ in functions(bench, path) for i in range(size)}
    if len(addresses) > limit:
        addresses = random.Random(1).sample(sorted(addresses), limit)
    return "".join(f"{a:x}\n" for a in sorted(addresses))


def plain(path):
    """addr2line leaves "." and ".." in, and says "?" for line 0."""
    path = re.sub(r" \(discriminator \d+\)", "", path)
    file, line = path.rsplit(":", 1)
    return (os.path.normpath(file) if file != "??" else file, "0" if line == "?" else line)


def parse(text):
    """{address: [(name, (file, line))]}"""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            frames = found.setdefault(int(line, 16), [])
        else:
            frames.append((line, plain(next(lines))))
    return found


def dump(bench, path, addresses, *args, debug_dir=None):
    extra = [debug_dir] if debug_dir else []
    return parse(bench.run(bench.tool, *args, path, *extra, stdin=addresses).stdout)


def is_same(ours, theirs):
    """Are two chains of frames the same? Names may have scopes; the outermost is the symbol table's."""
    return ([f for _, f in ours] == [f for _, f in theirs] and
            all(a == b or a.endswith("::" + b) for (a, _), (b, _) in zip(ours[:-1], theirs[:-1])))


def agree(bench, path, words, addresses=None, peer="addr2line", want=None):
    """Frames are the peer's, but the outermost is called as the symbol table has it."""
    addresses = addresses or every_address(bench, path)
    got = dump(bench, path, addresses)
    want = want or parse(bench.run(peer, "-aife", path, stdin=addresses).stdout)
    bench.check(len(want) > 100, f"{words}: only {len(want)} addresses")
    wrong = 0
    for address, frames in want.items():
        ours = got.get(address, [])
        if not is_same(ours, frames) and frames[-1][1][1] != "0":
            wrong += 1
            if wrong <= 3:
                bench.check(False, f"{words}: {address:#x}: got {ours}, {peer} says {frames}")
    bench.equal(wrong, 0, f"{words}: differences of {len(want)}")


def outermost(bench, path, words, *args, debug_dir=None, names=None):
    """Each function is called as nm calls it, or one of its aliases."""
    names = names or functions(bench, path)
    aliases = {}
    for address, _, name in names:
        aliases.setdefault(address, set()).add(name)
    asked = "".join(f"{a + size // 2:x}\n" for a, size, _ in names)
    got = dump(bench, path, asked, *args, debug_dir=debug_dir)
    bench.check(len(names) > 3, f"{words}: only {len(names)} functions")
    for address, size, name in names:
        ours = got[address + size // 2][-1][0]
        bench.check(ours in aliases[address], f"{words}: {name} at {address:#x}: got {ours}")
    return got


def go_table(bench):
    """Stripped programs of Go have names by the table that Go itself needs."""
    need("go")
    env = {"GOCACHE": bench.path("cache"), "GOFLAGS": "", "GO111MODULE": "off", "CGO_ENABLED": "0"}
    for kind in ("exe", "pie"):
        with open(bench.path("grow.go"), "w", encoding="ascii") as file:
            file.write(GO)
        for name, flags in (("full", ""), ("small", "-s -w")):
            bench.run("env", *(f"{k}={v}" for k, v in env.items()), "go", "build", "-buildmode", kind, "-ldflags",
                      flags, "-o", kind + name, "grow.go")
        # By that table types are "[...]", and the two ways to call a function are one.
        names = [(a, size, name.removesuffix(".abi0")) for a, size, name in functions(bench, kind + "full")
                 if "[" not in name]
        bench.run("objcopy", "-S", kind + "full", kind + "stripped")
        outermost(bench, kind + "stripped", f"{kind}, stripped", names=names)
        # The linker lays code out in the same way with and without symbols.
        outermost(bench, kind + "small", f"{kind}, linked without symbols", names=names)


def go_versions(bench):
    """The forms that the table had, by hand."""
    forms = {
        "1.2": ("0xfffffffb", ".quad 2", "quad", "head", "head", ""),
        "1.16": ("0xfffffffa", ".quad 2, 0, names - head, 0, 0, 0, rows - head", "quad", "rows", "names", ""),
        "1.18": ("0xfffffff0", ".quad 2, 0, one, names - head, 0, 0, 0, rows - head", "long", "rows", "names",
                 "- one"),
        "1.20": ("0xfffffff1", ".quad 2, 0, 0, names - head, 0, 0, 0, rows - head", "long", "rows", "names",
                 "- one"),
    }
    for version, (magic, head, row, records, names, base) in forms.items():
        source = f"""
	.text
	.globl _start
_start:
one:	.skip 24, 0x90
two:	.skip 40, 0x90
three:	.skip 8, 0x90
	.section .gopclntab, "a"
head:	.long {magic}
	.byte 0, 0, 1, 8
	{head}
rows:	.{row} one {base}, first - {records}, two {base}, second - {records}, three {base}
first:	.{row} one {base}
	.long one_name - {names}
second:	.{row} two {base}
	.long two_name - {names}
names:	.byte 0
one_name: .asciz "main.one"
two_name: .asciz "main.(*T).two"
"""
        name = f"go{version}"
        compile_to(bench, name + "full", source, "-nostdlib", "-static", "-Wl,-Ttext=0x4000b0,--build-id=none",
                   compiler="gcc", suffix=".s")
        bench.run("objcopy", "-S", name + "full", name)
        got = dump(bench, name, "4000b0\n4000c7\n4000c8\n4000ef\n4000f0\n")
        got = {a: frames[-1][0] if frames else "??" for a, frames in got.items()}
        bench.equal([got.get(a) for a in (0x4000b0, 0x4000c7, 0x4000c8, 0x4000ef)],
                    ["main.one", "main.one", "main.(*T).two", "main.(*T).two"], name)
        bench.check(not got.get(0x4000f0, "??").startswith("main."), f"{name}: {got}")


def cxx_inlines(bench):
    for version in ("4", "5"):
        for kind, flags in (("pie", []), ("exec", ["-no-pie"]), ("static", ["-static"])):
            name = f"cxx{version}{kind}"
            compile_to(bench, name, CXX, "-O2", "-g", f"-gdwarf-{version}", *flags)
            agree(bench, name, name)
            outermost(bench, name, name)


def names_with_scopes(bench):
    """Local classes, lambdas, unnamed namespaces, templates; procedures of modules and programs."""
    need("gfortran", "llvm-addr2line-14")
    programs = [("local" + "".join(flags), LOCAL, "g++", ".cpp", flags) for flags in
                (["-O2"], ["-O3", "-fno-ipa-sra"], ["-O1", "-gdwarf-4"], ["-O2", "-std=c++20"])]
    programs += [("module" + level, MODULE, "gfortran", ".f90", [level]) for level in ("-O2", "-O3")]
    for name, source, compiler, suffix, flags in programs:
        compile_to(bench, name, source, "-g", *flags, compiler=compiler, suffix=suffix)
        addresses = every_address(bench, name)
        got = dump(bench, name, addresses, "-C")
        raw = dump(bench, name, addresses)
        gnu = parse(bench.run("addr2line", "-aife", name, stdin=addresses).stdout)
        llvm = parse(bench.run("llvm-addr2line-14", "-aife", name, stdin=addresses).stdout)
        known = [a for a, frames in gnu.items() if frames[-1][1][1] != "0"]
        # GNU addr2line 2.40 gives an inlined function of an unnamed namespace its caller's name.
        same = sum(is_same(raw[a], gnu[a]) or is_same(raw[a], llvm[a]) for a in known)
        bench.check(len(known) > 300 and same >= 0.99 * len(known), f"{name}: {same} of {len(known)} chains")
        print(f"# {name}: {len(known)} addresses; addr2line: {sum(is_same(raw[a], gnu[a]) for a in known)}, "
              f"llvm-addr2line: {sum(is_same(raw[a], llvm[a]) for a in known)}, one of them: {same}")
        names = {frame for frames in got.values() for frame, _ in frames[:-1]}
        line = LOCAL.splitlines().index(next(r for r in LOCAL.splitlines() if "c_name(int x)" in r)) + 1
        want = ({"shop::count", "shop::(anonymous namespace)::nameless", "shop::(anonymous namespace)::Hidden::get",
                 "work::Local::helper", f"c_name::{{lambda at {name}.cpp:{line}}}::operator()"}
                if suffix == ".cpp" else {"MAIN__::outer", "__shop_MOD_weigh"})
        bench.equal(sorted(want - names), [], f"{name}: names that are missing")


def cxx_by_clang(bench):
    need("clang++", "llvm-addr2line-14")
    for version in ("4", "5"):
        name = f"clang{version}"
        compile_to(bench, name, CXX, "-O2", "-g", f"-gdwarf-{version}", compiler="clang++")
        # GNU addr2line 2.40 loses the inlined calls of clang's DWARF 5.
        agree(bench, name, name, peer="llvm-addr2line-14")


def c_program(bench):
    for flags in (["-O2"], ["-O0"], ["-O2", "-static"], ["-O2", "-gdwarf-2", "-gstrict-dwarf"]):
        name = "c" + "".join(flags)
        compile_to(bench, name, C, "-g", *flags, compiler="gcc", suffix=".c")
        agree(bench, name, name)
        outermost(bench, name, name)


def link_time_optimised(bench):
    need("llvm-addr2line-14")
    compile_to(bench, "lto", C, "-g", "-O2", "-flto", compiler="gcc", suffix=".c")
    # GNU addr2line 2.40 calls the source "<artificial>".
    agree(bench, "lto", "lto", peer="llvm-addr2line-14")
    outermost(bench, "lto", "lto")


def fortran_contained(bench):
    need("gfortran")
    compile_to(bench, "contained", FORTRAN, "-O2", "-g", "-fno-inline", compiler="gfortran", suffix=".f90")
    agree(bench, "contained", "contained")
    got = outermost(bench, "contained", "contained")
    bench.check(any("inner" in frames[-1][0] for frames in got.values()), "no contained procedure")


def rust_programs(bench):
    """At every address of its own code and of what is inlined there from the standard library."""
    need("rustc")
    with open(bench.path("shop.rs"), "w", encoding="utf-8") as file:
        file.write(RUST)
    for level in "1", "3", "s":
        name = f"rust{level}"
        bench.run("rustc", "--edition=2021", "-g", "-C", f"opt-level={level}", "shop.rs", "-o", name)
        agree(bench, name, name)


def compressed_sections(bench):
    compile_to(bench, "whole", CXX, "-O2", "-g")
    addresses = every_address(bench, "whole")
    want = dump(bench, "whole", addresses)
    for how in ("zlib-gabi", "zlib-gnu", "zstd"):
        bench.run("objcopy", f"--compress-debug-sections={how}", "whole", how)
        bench.check(dump(bench, how, addresses) == want, f"{how}: another answer")


def split_units(bench):
    for version in ("4", "5"):
        compile_to(bench, f"whole{version}", CXX, "-O2", "-g", f"-gdwarf-{version}")
        compile_to(bench, f"split{version}", CXX.replace("whole", "split"), "-O2", "-g", f"-gdwarf-{version}",
                   "-gsplit-dwarf")
        os.rename(bench.path(f"whole{version}.cc"), bench.path("x.cc"))
        addresses = every_address(bench, f"whole{version}")
        def names(path, addresses=addresses):
            return {a: [(n, line[1]) for n, line in f] for a, f in dump(bench, path, addresses).items()}
        want = names(f"whole{version}")
        bench.check(names(f"split{version}") == want, f"split{version}: .dwo: another answer")
        if version == "4" and shutil.which("dwp"):
            bench.run("dwp", "-e", "split4", "-o", "split4.dwp")
            for name in os.listdir(bench.folder):
                if name.endswith(".dwo"):
                    os.remove(bench.path(name))
            bench.check(names("split4") == want, "split4: .dwp: another answer")


def separate_files(bench):
    compile_to(bench, "whole", CXX, "-O2", "-g", "-Wl,--build-id")
    addresses = every_address(bench, "whole")
    want = dump(bench, "whole", addresses)
    bench.run("objcopy", "--only-keep-debug", "whole", "linked.debug")
    # by debug link, beside the binary and in .debug/
    bench.run("objcopy", "-S", "--add-gnu-debuglink=linked.debug", "whole", "linked")
    bench.check(dump(bench, "linked", addresses) == want, "debug link beside: another answer")
    os.mkdir(bench.path(".debug"))
    os.rename(bench.path("linked.debug"), bench.path(".debug/linked.debug"))
    bench.check(dump(bench, "linked", addresses) == want, "debug link in .debug: another answer")
    # by build id
    build_id = re.search(r"Build ID: (\w+)", bench.run("readelf", "-n", "whole").stdout).group(1)
    folder = bench.path(f"store/.build-id/{build_id[:2]}")
    os.makedirs(folder)
    os.rename(bench.path(".debug/linked.debug"), f"{folder}/{build_id[2:]}.debug")
    bench.run("objcopy", "-S", "whole", "stripped")
    bench.check(dump(bench, "stripped", addresses, debug_dir=bench.path("store")) == want,
                "build id: another answer")
    # another binary's file must not be taken
    compile_to(bench, "other", C, "-O2", "-g", "-Wl,--build-id", compiler="gcc", suffix=".c")
    bench.run("objcopy", "--only-keep-debug", "other", "linked.debug")
    got = dump(bench, "linked", addresses)
    bench.check(not any(frame[1][1] != "0" for frames in got.values() for frame in frames),
                "a debug file of another binary was taken")


def without_build_id(bench):
    compile_to(bench, "whole", C, "-O2", "-g", "-Wl,--build-id=none", compiler="gcc", suffix=".c")
    addresses = every_address(bench, "whole")
    want = dump(bench, "whole", addresses)
    bench.run("objcopy", "--only-keep-debug", "whole", "crc.debug")
    bench.run("objcopy", "-S", "--add-gnu-debuglink=crc.debug", "whole", "crc")
    bench.check(dump(bench, "crc", addresses) == want, "right CRC: another answer")
    with open(bench.path("crc.debug"), "ab") as f:
        f.write(b"x")
    got = dump(bench, "crc", addresses)
    bench.check(got != want, "a file of another CRC was taken")


def shared_debug_data(bench):
    need("dwz")
    for name, flag in (("one", "-DONE"), ("two", "-DTWO")):
        compile_to(bench, name, CXX, "-O2", "-g", flag)
        bench.run("objcopy", "--only-keep-debug", name, f"{name}.debug")
        shutil.copy(bench.path(name), bench.path(f"{name}.whole"))
        bench.run("objcopy", "-S", f"--add-gnu-debuglink={name}.debug", f"{name}.whole", name)
    bench.run("dwz", "-m", "shared", "-M", "shared", "one.debug", "two.debug")
    for name in ("one", "two"):
        addresses = every_address(bench, f"{name}.whole")
        bench.check(dump(bench, name, addresses) == dump(bench, f"{name}.whole", addresses),
                    f"{name}: another answer")


def mini_debug_info(bench):
    need("xz")
    compile_to(bench, "whole", C, "-O2", "-Wl,--export-dynamic", compiler="gcc", suffix=".c")
    names = functions(bench, "whole")
    dynamic = {name for _, _, name in functions(bench, "whole", "-D")}
    with open(bench.path("keep"), "w", encoding="utf-8") as f:
        f.writelines(f"{name}\n" for _, _, name in names if name not in dynamic)
    bench.run("objcopy", "-S", "--remove-section=.comment", "--keep-symbols=keep", "whole", "mini")
    bench.run("xz", "mini")
    bench.run("objcopy", "-S", "whole", "stripped")
    bench.run("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "stripped", "packed")
    bench.check(dynamic and len(dynamic) < len(names), f"{len(dynamic)} of {len(names)} are dynamic")
    outermost(bench, "packed", "MiniDebugInfo", names=names)


def stripped_by_starts(bench):
    compile_to(bench, "whole", C, "-O2", "-fno-ipa-icf", compiler="gcc", suffix=".c")
    bench.run("objcopy", "-S", "whole", "bare")
    names = [row for row in functions(bench, "whole") if row[2] in ("main", "polynomial", "compare", "complain")]
    got = dump(bench, "bare", "".join(f"{a + 1:x}\n" for a, _, _ in names))
    for address, _, name in names:
        bench.equal(got[address + 1][0][0], f"[bare+{address:#x}]", name)
    bench.equal(len(names), 4, "functions")


def stubs(bench, path):
    """{address: name@plt} of objdump's labels."""
    text = bench.run("objdump", "-d", path).stdout
    return {int(m.group(1), 16): m.group(2) for m in re.finditer(r"^(\w+) <(\S+@plt)>:", text, re.M)}


def plt_stubs(bench):
    kinds = {
        "lazy": ["-Wl,-z,lazy", "-fcf-protection=none"],
        "lazy_ibt": ["-Wl,-z,lazy", "-Wl,-z,ibtplt", "-fcf-protection"],
        "now": ["-Wl,-z,now", "-fcf-protection=none"],
        "now_ibt": ["-Wl,-z,now", "-Wl,-z,ibtplt", "-fcf-protection"],
        "exec": ["-no-pie", "-Wl,-z,lazy"],
        "m32": ["-m32", "-Wl,-z,lazy"],
        "m32pic": ["-m32", "-fPIC", "-pie", "-Wl,-z,lazy"],
    }
    for name, flags in kinds.items():
        if "-m32" in flags and bench.run("gcc", "-m32", "-xc", "-", "-o", "m32test", status=None,
                                         stdin="int main(void){return 0;}").returncode:
            continue
        compile_to(bench, name, C, "-O2", *flags, compiler="gcc", suffix=".c")
        want = stubs(bench, name)
        bench.check(len(want) > 3, f"{name}: only {len(want)} stubs")
        for path in (name, name + ".stripped"):
            if path != name:
                bench.run("objcopy", "-S", name, path)
            got = dump(bench, path, "".join(f"{a + 5:x}\n" for a in want))
            for address, stub in want.items():
                if "*ABS*" not in stub:
                    bench.equal(got[address + 5][0][0], stub, f"{path}: {address:#x}")


def chosen_functions(bench):
    """Stubs of functions that a resolver chooses have the name of what it chooses."""
    source = """
static int one(int x) { return x + 1; }
static int two(int x) { return x + 2; }
static int (*pick(void))(int) { return (unsigned long)&one & 1 ? two : one; }
int chosen(int x) __attribute__((ifunc("pick")));
int main(int argc, char **argv) { (void)argv; return chosen(argc); }
"""
    flags = ("-O1", "-no-pie", "-fcf-protection=none")
    compile_to(bench, "chosen", source, *flags, compiler="gcc", suffix=".c")
    listing = bench.run("objdump", "-d", "chosen").stdout
    found = re.search(r"^([0-9a-f]+) <(\*ABS\*\+0x[0-9a-f]+@plt)>:", listing, re.M)
    if not found:
        raise live.Skip("no stub without a symbol")
    bench.run("objcopy", "-S", "chosen", "chosen.stripped")
    address = int(found.group(1), 16)
    for path, want in (("chosen", "chosen@plt"), ("chosen.stripped", found.group(2))):
        bench.equal(dump(bench, path, f"{address + 5:x}\n")[address + 5][0][0], want, path)


def names_of_libraries(bench):
    """Against c++filt, but for what it writes oddly: commas of empty packs, "> >" lost there."""
    library = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
    if not os.path.exists(library):
        raise live.Skip("no libstdc++.so.6")
    rows = functions(bench, library, "-D")
    got = dump(bench, library, "".join(f"{a:x}\n" for a, _, _ in rows), "-C", "-n")
    raw = dump(bench, library, "".join(f"{a:x}\n" for a, _, _ in rows), "-n")
    pairs = [(raw[a][0][0], got[a][0][0]) for a, _, _ in rows]
    want = bench.run("c++filt", "-i", stdin="".join(f"{r}\n" for r, _ in pairs)).stdout.splitlines()
    bench.check(len(pairs) > 2000, f"only {len(pairs)} names")
    for (name, ours), theirs in zip(pairs, want):
        bench.equal(ours, theirs, name)


def own_binary(bench):
    """Of this project's own code, at every address of a program that is not small."""
    need("llvm-addr2line-14")
    # As in cxx_by_clang: the compiler is whichever built it.
    agree(bench, bench.tool, "symbol_dump itself", peer="llvm-addr2line-14")


live.main([cxx_inlines, names_with_scopes, cxx_by_clang, c_program, link_time_optimised, fortran_contained, rust_programs, compressed_sections, split_units,
           separate_files, without_build_id, shared_debug_data, mini_debug_info, stripped_by_starts, plt_stubs,
           chosen_functions, go_table, go_versions,
           names_of_libraries, own_binary])
