#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""debuginfod.py TOOL WORKLOADS [CASE...]: names from a server of debug files, on the loopback."""

import contextlib
import ctypes
import gzip
import http.server
import os
import re
import shutil
import signal
import subprocess
import threading

import live
from live import Skip

SOURCE = """
static __attribute__((noinline)) int hidden_%(name)s(int n)
{
    volatile int sum = 0;

    while (n-- > 0)
        sum += n %% 7;
    return sum;
}

int main(int count, char **words)
{
    (void)words;
    return hidden_%(name)s(count * %(loops)s) == 12345;
}
"""


class Server(http.server.ThreadingHTTPServer):
    """Serves files: {build id: path}; None: accepts the request, and sends nothing."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.ended = files, [], threading.Event()
        self.is_waiting = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = re.fullmatch(r"/buildid/([0-9a-f]+)/debuginfo", self.path)
        build_id = found and found.group(1)
        self.server.asked.append(build_id)
        if build_id not in self.server.files:
            self.send_error(404)
            return
        path = self.server.files[build_id]
        if path is None:
            self.server.is_waiting.set()
            self.server.ended.wait()
            return
        with open(path, "rb") as file:
            content = file.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@contextlib.contextmanager
def serving(files):
    server = Server(files)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def message(*fields):
    """Of (number, integer or bytes)."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def write_profile(bench, name, path, build_id, address):
    """One sample at a file offset of a program."""
    texts = ["", "samples", "count", path, build_id]
    with gzip.open(bench.path(name), "wb") as file:
        file.write(message(
            (1, message((1, 1), (2, 2))),
            (2, message((1, varint(1)), (2, varint(10)))),
            (3, message((1, 1), (2, 0), (3, 1 << 20), (4, 0), (5, 3), (6, 4))),
            (4, message((1, 1), (2, 1), (3, address))),
            *((6, text.encode()) for text in texts)))


def need_library():
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError as error:
        raise Skip("no libdebuginfod.so.1") from error


def build_id_of(bench, path):
    return re.search(r"Build ID: (\w+)", bench.run("readelf", "-n", path).stdout).group(1)


def split(bench, name):
    """NAME.debug holds what the debug file of NAME would."""
    bench.run("objcopy", "--only-keep-debug", name, name + ".debug")
    bench.run("objcopy", "-S", name)


class Program:
    """A stripped program, its debug file, and a profile of its function hidden_NAME."""

    def __init__(self, bench, name, loops=1, is_split=True):
        source = bench.path(name + ".c")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE % {"name": name, "loops": loops})
        bench.run("gcc", "-g", "-O1", "-Wl,--build-id", "-o", name, source)
        symbols = bench.run("nm", name).stdout
        address = int(re.search(rf"(\w+) t hidden_{name}", symbols).group(1), 16) + 8
        self.name, self.function = name, "hidden_" + name
        self.path, self.debug = bench.path(name), bench.path(name + ".debug")
        self.build_id = build_id_of(bench, name)
        self.profile = name + ".pb.gz"
        write_profile(bench, self.profile, self.path, self.build_id, address)
        if is_split:
            split(bench, name)


def start(bench):
    """Where root may keep a cache."""
    need_library()
    os.chmod(bench.folder, 0o755)
    for name in list(os.environ):
        if name.startswith("DEBUGINFOD_") or name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ["DEBUGINFOD_CACHE_PATH"] = bench.path("cache/deeper")


def ask(bench, program, urls=None, *args):
    """(function, line, standard error) of the one sample."""
    environment = dict(os.environ)
    if urls is not None:
        environment["DEBUGINFOD_URLS"] = urls
    done = subprocess.run([bench.tool, "report", "--by", "line", "-f", "csv", program.profile, *args],
                          cwd=bench.folder, env=environment, capture_output=True, text=True,
                          timeout=240, check=False)
    bench.equal(done.returncode, 0, f"exit status: {done.stderr}")
    return done.stdout, done.stderr


def is_named(program, answer):
    return program.function in answer[0] and f"{program.name}.c:" in answer[0]


def fetched_once(bench):
    start(bench)
    one = Program(bench, "one")
    with serving({one.build_id: one.debug}) as server:
        bench.check(not is_named(one, ask(bench, one)), "named without a server")
        bench.equal(server.asked, [], "requests without the variable")
        answer = ask(bench, one, server.url)
        bench.check(is_named(one, answer), f"not named: {answer}")
        bench.equal(answer[1], "", "standard error")
        bench.equal(server.asked, [one.build_id], "requests")
        bench.check(is_named(one, ask(bench, one, server.url)), "not named by the cache")
        bench.equal(server.asked, [one.build_id], "requests with a cache")


def by_option(bench):
    start(bench)
    one = Program(bench, "one")
    with serving({one.build_id: one.debug}) as server:
        answer = ask(bench, one, server.url, "--debuginfod", "")
        bench.check(not is_named(one, answer), "named although no server is wanted")
        bench.equal(server.asked, [], "requests to no server")
        answer = ask(bench, one, "http://127.0.0.1:1", "--debuginfod", server.url)
        bench.check(is_named(one, answer), f"not named: {answer}")


def deleted_program(bench):
    start(bench)
    one = Program(bench, "one")
    os.remove(one.path)
    with serving({one.build_id: one.debug}) as server:
        answer = ask(bench, one, server.url)
        bench.check(is_named(one, answer), f"not named: {answer}")


def shared_debug_data(bench):
    """What dwz moved to a file of its own is fetched by the build id of that."""
    start(bench)
    if not shutil.which("dwz"):
        raise Skip("no dwz")
    one, two = (Program(bench, name, is_split=False) for name in ("one", "two"))
    for program in one, two:
        split(bench, program.name)
    bench.run("dwz", "-m", "shared", "-M", "shared", one.debug, two.debug)
    shared = build_id_of(bench, "shared")
    os.rename(bench.path("shared"), bench.path("elsewhere"))
    with serving({one.build_id: one.debug, shared: bench.path("elsewhere")}) as server:
        answer = ask(bench, one, server.url)
        bench.check(is_named(one, answer), f"not named: {answer}")
        bench.equal(server.asked, [one.build_id, shared], "requests")


def wrong_files(bench):
    """Another program's debug file, no ELF file, a stripped file, and none at all."""
    start(bench)
    one, two = Program(bench, "one"), Program(bench, "two")
    with open(bench.path("noise"), "wb") as file:
        file.write(b"<html>" * 100)
    for path in two.debug, bench.path("noise"), one.path:
        shutil.rmtree(bench.path("cache"), ignore_errors=True)
        with serving({one.build_id: path}) as server:
            answer = ask(bench, one, server.url)
            bench.check(not is_named(one, answer) and two.function not in answer[0],
                        f"{path} was taken: {answer}")
            bench.equal(server.asked, [one.build_id], f"requests for {path}")
    shutil.rmtree(bench.path("cache"), ignore_errors=True)
    with serving({}) as server:
        answer = ask(bench, one, server.url)
        bench.equal((is_named(one, answer), answer[1]), (False, ""), "a server that lacks it")
        bench.equal(server.asked, [one.build_id], "requests")


def no_server(bench):
    start(bench)
    one = Program(bench, "one")
    with serving({}) as server:
        url = server.url
    answer = ask(bench, one, url)
    bench.check(not is_named(one, answer), "named without a server")
    bench.check(re.fullmatch("auger: debuginfod: .*; no more debug files are requested\n", answer[1]),
                answer[1])


def silent_server(bench):
    start(bench)
    one = Program(bench, "one")
    os.environ["DEBUGINFOD_TIMEOUT"] = "1"
    with serving({one.build_id: None}) as server:
        answer = ask(bench, one, server.url)
    bench.check(not is_named(one, answer), "named by a server that sends nothing")
    bench.check("debuginfod: the server sends nothing; no more" in answer[1], answer[1])


def folders_of_others(bench):
    """root fetches nothing to where others can write, or through a link."""
    start(bench)
    if os.geteuid() != 0:
        raise Skip("needs root")
    one = Program(bench, "one")
    os.mkdir(bench.path("open"))
    os.chmod(bench.path("open"), 0o777)
    os.mkdir(bench.path("theirs"))
    os.chown(bench.path("theirs"), 65534, 65534)
    os.symlink("theirs", bench.path("link"))
    with serving({one.build_id: one.debug}) as server:
        for name in "open", "open/cache", "theirs", "theirs/cache", "link":
            os.environ["DEBUGINFOD_CACHE_PATH"] = bench.path(name)
            answer = ask(bench, one, server.url)
            bench.check("debuginfod: root's cache (DEBUGINFOD_CACHE_PATH): " in answer[1],
                        f"{name}: {answer}")
        del os.environ["DEBUGINFOD_CACHE_PATH"]
        for name in "HOME", "XDG_CACHE_HOME":
            os.environ[name] = bench.path("theirs")
            answer = ask(bench, one, server.url)
            bench.check("belongs to another user" in answer[1], f"{name}: {answer}")
        bench.equal(server.asked, [], "requests")
    bench.equal(os.listdir(bench.path("open")) + os.listdir(bench.path("theirs")), [], "files")


def recorded(bench):
    """record fetches when it ends; when that is interrupted, what was sampled is there."""
    start(bench)
    one = Program(bench, "one", loops=300000000)
    with serving({one.build_id: one.debug}) as server:
        done = subprocess.run([bench.tool, "record", "-o", "r.pb.gz", "--debuginfod", server.url,
                               one.path], cwd=bench.folder, capture_output=True, text=True,
                              timeout=240, check=False)
        bench.equal(done.returncode, 0, done.stderr)
    bench.check(live.totals(bench.report(output="r.pb.gz")).get(one.function, 0) > 0.5, "its name")
    shutil.rmtree(bench.path("cache"))
    os.environ["DEBUGINFOD_TIMEOUT"] = "600"
    with serving({one.build_id: None}) as server:
        auger = bench.start(bench.tool, "record", "-o", "s.pb.gz", "--debuginfod", server.url,
                            one.path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        bench.check(server.is_waiting.wait(240), "no request")
        auger.send_signal(signal.SIGINT)
        err = auger.communicate(timeout=240)[1]
    bench.equal(auger.returncode, -signal.SIGINT, f"status: {err}")
    bench.run(bench.tool, "record", "--debuginfod", "", "--recover", "s.pb.gz.spool")
    bench.check(live.totals(bench.report(output="s.pb.gz")), "nothing was recovered")


live.main([fetched_once, by_option, deleted_program, shared_debug_data, wrong_files, no_server,
           silent_server, folders_of_others, recorded])
