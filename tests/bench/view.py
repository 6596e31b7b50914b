#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""view.py AUGER: size of a page, what it takes to write it, and how fast a browser shows it.

100,000 distinct stacks of 50,000 functions, made up: each shares its outer frames with another. The
peers' numbers are quoted from a measurement of stacks of this shape on another day: the best of eight
viewers. Clicks hold the wait for two frames of the screen (33 ms).
"""
import gzip
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../browser'))
import bench  # noqa: E402
import browser  # noqa: E402

STACKS, FUNCTIONS, RUNS, CLICKS = 100000, 50000, 3, 5
MEDIUM_STACKS, MEDIUM_DEPTH, MEDIUM_FUNCTIONS = 20000, 60, 4000
SCROLLS = 60
SCOPES = 'core::engine io::Reader net::Socket render::Scene json vm::Interp db::Table alloc'.split()
WORDS = 'Read Reader write parse push resolve advance lock hash copy visit emit'.split()
ACTIONS = [  # what, JavaScript, goal in ms, best peer
    ('search', "type('Read')", 50, ('flamebearer', 255)),
    ('clear search', "type('')", 50, None),
    ('functions tab', "press('#tab-functions')", 80, ('speedscope', 159)),
    ('tree tab', "press('#tab-tree')", 80, None),
    ('flame tab', "press('#tab-flame')", 80, None),
    ('zoom', 'zoom()', 45, ('auger flame', 48)),
    ('reset zoom', "press('#reset')", 45, None),
]
TIMED_ACTIONS = [
    ('timeline tab', "press('#tab-timeline')", 80, None),
    ('brush', "brush('10', '30')", 80, None),
    ('functions of the brush', "press('#tab-functions')", 80, None),
    ('all of the time', "press('#chips button')", 80, None),
]
HELPERS = '''
    const brush = (from, to) => { const field = (id) => document.querySelector(id); field('#from').value = from; field('#to').value = to;
        field('#to').dispatchEvent(new Event('change')); };
    const press = (what) => document.querySelector(what).click();
    const type = (text) => { const field = document.querySelector('#search'); field.value = text; field.dispatchEvent(new Event('input')); };
    const zoom = () => { const box = document.querySelector('#view canvas').getBoundingClientRect();
        document.querySelector('#view').dispatchEvent(new MouseEvent('click', { clientX: box.left + 300, clientY: box.top + 60 })); };
'''


def make_stacks(chance, file):
    names = [f'{chance.choice(SCOPES)}::{chance.choice(WORDS)}_{i}' for i in range(FUNCTIONS)]
    stacks = [('main',)]
    for _ in range(STACKS):
        base = chance.choice(stacks)
        kept = base[:chance.randint(1, len(base))] if len(base) < 180 else base[:20]
        stacks.append(kept + tuple(names[min(FUNCTIONS - 1, int(chance.paretovariate(.25)))]
                                   for _ in range(chance.randint(1, 17))))
        file.write(f"{';'.join(stacks[-1])} {1 + int(chance.expovariate(.11))}\n")


def make_medium(chance, file):
    """All of one depth, in few functions."""
    for _ in range(MEDIUM_STACKS):
        kept = chance.randrange(MEDIUM_DEPTH - 10)
        file.write(';'.join(f'base{i}' for i in range(kept)) + ';' * (kept > 0) +
                   ';'.join(f'app::part_{chance.randrange(MEDIUM_FUNCTIONS)}' for _ in range(MEDIUM_DEPTH - kept)) + ' 1\n')


def varint(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes(data + bytes([number]))


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def add_times(chance, path):
    """As many values over 70 s as there may be, of stacks in no order: the most that a page can have."""
    values = 1 << 18
    at = sorted(chance.randrange(70000) for _ in range(values))
    steps = b''.join(varint(b - a) for a, b in zip([0] + at, at))
    stacks = b''.join(varint(chance.randrange(STACKS // 2)) for _ in at)
    track = field(2, steps) + field(3, stacks) + field(4, varint(2) + b'\0' * (values - 1))
    with gzip.open(path) as file:
        data = file.read()
    with gzip.open(path, 'wb', 1) as file:
        file.write(data + field(1001, varint(8) + varint(10 ** 6) + field(3, track)))  # see format/pprof/times.h


def write_page(auger, folded, html):
    """CPU seconds and peak memory in MB of one run."""
    pid = os.posix_spawn(auger, [auger, 'view', folded, '-o', html], os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f'auger view: status {status}')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def show(page, html):
    page.open(html)
    page.wait("document.documentElement.dataset.ready === '1'")
    return page.eval("performance.getEntriesByName('shown')[0].startTime")


def click(page, action):
    return page.eval(f'''(async () => {{ {HELPERS} const began = performance.now(); {action};
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return performance.now() - began }})()''')


def scroll(page):
    """The times of frames in ms while the picture scrolls."""
    return page.eval(f'''(async () => {{ const view = document.querySelector('#view'), times = [];
        const frame = () => new Promise(requestAnimationFrame);
        for (let i = 0, last = await frame(); i < {SCROLLS}; i++) {{ view.scrollTop += 20; const now = await frame(); times.push(now - last); last = now; }}
        return times }})()''')


def private_memory(page):
    """MB of the largest process that draws pages, that no other shares."""
    most = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                is_drawer = b'--type=renderer' in file.read()
            if not is_drawer or os.getpgid(int(pid)) != page.process.pid:
                continue
            with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
                most = max(most, sum(int(line.split()[1]) for line in file if line.startswith('Private_')) / 1024)
        except OSError:
            continue  # it ended
    return most


def median(values):
    return sorted(values)[len(values) // 2]


def bench_first(pages):
    page = browser.Page()
    try:
        for kind, html, most in pages:
            page.begin(1280, 800)
            bench.row(f'view: first picture, {kind}', median([show(page, html) for _ in range(RUNS)]), 'ms', most=most)
    finally:
        page.close()


def bench_browser(html, actions, kind):
    page = browser.Page()
    try:
        page.begin(1280, 800)
        bench.row(f'view: first picture, {kind}', median([show(page, html) for _ in range(RUNS)]), 'ms', most=800)
        bench.row(f'view: memory of the tab, {kind}', private_memory(page), 'MB', most=150 if 'time' in kind else 110)
        bench.row(f'view: frame while scrolling, 95 of 100, {kind}', sorted(scroll(page))[SCROLLS * 95 // 100], 'ms', most=20)
        times = {what: [] for what, *_ in actions}
        for _ in range(CLICKS):
            for what, action, *_ in actions:
                times[what].append(click(page, action))
        for what, _, most, peer in actions:
            note = f' (best peer: {peer[0]} {peer[1]} ms)' if peer else ''
            bench.row(f'view: {what}, {kind}{note}', median(times[what]), 'ms', most=most)
    finally:
        page.close()


def main():
    auger = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix='auger-bench-') as folder:
        folded, html, small = (os.path.join(folder, name) for name in ('a.folded', 'a.html', 'small.html'))
        with open(folded, 'w', encoding='ascii') as file:
            make_stacks(random.Random(1), file)
        runs = [write_page(auger, folded, html) for _ in range(RUNS)]
        subprocess.run([auger, 'view', '-', '-o', small], input=b'main;work 1\n', check=True, stderr=subprocess.DEVNULL)
        bench.row('view: page, one stack', os.path.getsize(small) / 1024, 'KiB', most=150)
        bench.row('view: page, large', os.path.getsize(html) / 1e6, 'MB', 'auger flame, quoted', 8.3, most=1)
        bench.row('view: CPU to write, large', min(cpu for cpu, _ in runs), 's', most=1.5)
        bench.row('view: memory to write, large', max(memory for _, memory in runs), 'MB', most=300)
        timed = os.path.join(folder, 'timed.pb.gz')
        subprocess.run([auger, 'convert', folded, '-o', timed], check=True, stderr=subprocess.DEVNULL)
        add_times(random.Random(2), timed)
        page = os.path.join(folder, 'timed.html')
        subprocess.run([auger, 'view', timed, '-o', page], check=True, stderr=subprocess.DEVNULL)
        bench.row('view: page, large with time', os.path.getsize(page) / 1e6, 'MB', most=5)
        if browser.find():
            folded, medium = (os.path.join(folder, name) for name in ('medium.folded', 'medium.html'))
            with open(folded, 'w', encoding='ascii') as file:
                make_medium(random.Random(3), file)
            write_page(auger, folded, medium)
            bench_first([('one stack', small, 150), ('medium', medium, 400)])
            bench_browser(html, ACTIONS, 'large')
            bench_browser(page, TIMED_ACTIONS, 'large with time')


main()
