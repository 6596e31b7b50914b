#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_flame.py AUGER: flame graphs in a real browser. Prints TAP."""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

import cases
from cases import HOSTILE, check, near

AUGER = os.path.realpath(sys.argv[1])
WIDTH, HEIGHT = 1240, 800
INNER = WIDTH - 20  # width of the root
SVG = '{http://www.w3.org/2000/svg}'

STACKS = '''\
main;compute;multiply;load 30
main;compute;multiply 20
main;compute;Multiply_slow 10
main;compute;multiply;compute;multiply 5
main;read;sys_read_[k];copy_to_user_[k] 15
main;read 5
main;std::map<int, std::vector<char>>::find(int const&)_[i] 10
other;multiply 5
'''

# Text in a picture is cut.
SHOWN = cases.SHOWN + [(b'L' + b'o' * (1 << 20) + b'ng', 'L' + 'o' * 4095 + '..')]

LABELS = '''Array.from(document.querySelectorAll('#labels text'), (t) => ({ text: t.textContent,
    x: t.getBoundingClientRect().left, right: t.getBoundingClientRect().right,
    y: Math.round(t.getBoundingClientRect().top), look: t.getAttribute('class') }))'''
CURSOR = '''(() => { const r = document.activeElement; return r.id !== 'cursor' ? null :
    { name: r.getAttribute('aria-label').split('\\n')[0], width: Number(r.getAttribute('width')) } })()'''


def make(folder, name, text, *options):
    """A flame graph of folded stacks; its path."""
    data = text if isinstance(text, bytes) else text.encode()
    path = os.path.join(folder, name + '.svg')
    subprocess.run([AUGER, 'flame', '-', '-o', path, *options], input=data, check=True,
                   stderr=subprocess.DEVNULL)
    return path


def label(page, text):
    """The first label with this text in the order of the frames, or None."""
    return next((one for one in page.eval(LABELS) if one['text'] == text), None)


def click_label(page, text):
    at = label(page, text)
    page.click(at['x'] + 4, at['y'] + 5)


def text_of(page, selector):
    return page.eval(f'document.querySelector({json.dumps(selector)}).textContent')


def hash_of(page):
    return page.eval('location.hash')


# Each case gets a folder for its files and an empty page; what a page must not do fails it.

def test_well_formed(folder, page):
    deep = ';'.join(f'f{i}' for i in range(3000)) + ' 1\n'
    for name, text in (('stacks', STACKS), ('deep', deep), ('one', 'main 1\n'),
                       ('hostile', ''.join(name + ' 1\n' for name in HOSTILE)),
                       ('shown', b''.join(bytes + b' 1\n' for bytes, _ in SHOWN))):
        root = xml.parse(make(folder, name, text)).getroot()
        check(root.tag, SVG + 'svg')
        rects = root.findall(f".//{SVG}g[@id='frames']/{SVG}g/{SVG}rect")
        check(len(rects) > 0, True)


def test_self_contained(folder, page):
    with open(make(folder, 'a', STACKS), encoding='utf-8') as file:
        text = file.read()
    for word in ('href', 'url(', '@import', 'src='):
        check(word in text, False)
    links = {part.split('"')[0].split("'")[0] for part in text.split('http')[1:]}
    check(links, {'://www.w3.org/2000/svg', '://www.w3.org/1999/xhtml'})


def test_follows_window(folder, page):
    page.open(make(folder, 'a', STACKS))
    check(page.eval('document.documentElement.width.baseVal.value'), WIDTH)
    near(label(page, 'all')['x'], 13)
    page.resize(700, 500)
    page.settle()
    check(page.eval('document.documentElement.width.baseVal.value'), 700)


def test_labels_fit(folder, page):
    page.open(make(folder, 'a', STACKS))
    rows = {}
    for one in page.eval(LABELS):
        rows.setdefault(one['y'], []).append(one)
    check(len(rows), 6)
    for row in rows.values():
        row.sort(key=lambda one: one['x'])
        for left, right in zip(row, row[1:] + [{'x': WIDTH - 10}]):
            check(left['right'] < right['x'], True)
    check(label(page, 'std::map::find..') is not None, True)


def test_zoom_by_click(folder, page):
    page.open(make(folder, 'a', STACKS))
    check(label(page, 'read') is not None, True)
    click_label(page, 'multiply')
    check(label(page, 'read'), None)
    check(label(page, 'other'), None)
    check(page.eval(CURSOR), {'name': 'multiply', 'width': INNER - .6})
    near(label(page, 'load')['x'], 10 + 3 + INNER * 5 / 55)
    check(label(page, 'main')['look'].split(), ['up'])
    click_label(page, 'main')
    near(label(page, 'read')['x'], 10 + 3 + INNER * 65 / 95)
    check(page.eval("document.querySelector('#reset').disabled"), False)
    page.eval("document.querySelector('#reset').click()")
    page.settle()
    near(label(page, 'read')['x'], 10 + 3 + INNER * 65 / 100)
    check(page.eval("document.querySelector('#reset').disabled"), True)


def test_keys(folder, page):
    page.open(make(folder, 'a', STACKS))
    page.eval("document.querySelector('#cursor').focus()")
    for key, name in (('ArrowUp', 'main'), ('ArrowUp', 'compute'), ('ArrowRight', 'read'),
                      ('ArrowUp', 'sys_read'), ('ArrowDown', 'read'), ('ArrowLeft', 'compute'),
                      ('ArrowRight', 'read')):
        page.key(key)
        check(page.eval(CURSOR)['name'], name)
    near(page.eval(CURSOR)['width'], INNER * .2)
    page.key('Enter')
    near(page.eval(CURSOR)['width'], INNER)
    check(label(page, 'compute'), None)
    page.key('Escape')
    check(label(page, 'compute') is not None, True)
    check(page.eval(CURSOR)['name'], 'all')
    page.key('f')
    check(page.eval("document.querySelector('#flip').getAttribute('aria-pressed')"), 'true')
    check(label(page, 'all')['y'] < label(page, 'main')['y'], True)


def matched(page, pattern):
    page.key('/')
    page.type(pattern)
    return text_of(page, '#matched')


def test_search(folder, page):
    path = make(folder, 'a', STACKS)
    # A stack with several matching frames counts once.
    for pattern, want in (('multiply', '60.00 %'), ('^multiply$', '60.00 %'), ('compute', '65.00 %'),
                          ('copy|load', '45.00 %'), ('nothing', '0.00 %'), ('sys_read', '15.00 %'),
                          ('find(int', '10.00 %')):
        page.open(path)
        check(matched(page, pattern), want)
    page.open(path)
    matched(page, 'multiply')
    looks = {one['text']: one['look'] for one in page.eval(LABELS)}
    check((looks['load'], looks['main']), ('', ''))
    check(page.eval("document.querySelectorAll('#shapes path.hit').length") > 0, True)
    page.key('Escape')
    check(text_of(page, '#matched'), '')
    check(page.eval("document.querySelectorAll('#shapes path.hit').length"), 0)


def test_search_agrees_with_report(folder, page):
    stacks = os.path.join(folder, 'a.folded')
    with open(stacks, 'w', encoding='utf-8') as file:
        file.write(STACKS)
    path = make(folder, 'a', STACKS)
    for pattern in ('multiply', 'compute', 'read', 'o'):
        totals = []
        for options in ([], ['--focus', pattern]):
            out = subprocess.run([AUGER, 'report', '-f', 'json', *options, stacks], check=True,
                                 stdout=subprocess.PIPE).stdout
            totals.append(sum(row['self'] for row in json.loads(out)['rows']))
        page.open(path)
        check(matched(page, pattern), f'{100 * totals[1] / totals[0]:.2f} %')


def test_search_in_zoom(folder, page):
    page.open(make(folder, 'a', STACKS))
    click_label(page, 'read')
    check(matched(page, 'copy'), '75.00 %')
    check(page.eval("document.querySelector('#matched').title"),
          'matched: 75.00 % of the zoomed frame, 15.00 % of all')


def test_ignore_case(folder, page):
    page.open(make(folder, 'a', STACKS))
    check(matched(page, 'mul.*slow'), '0.00 %')
    page.key('i', control=True)
    check(text_of(page, '#matched'), '10.00 %')
    page.key('i', control=True)
    check(text_of(page, '#matched'), '0.00 %')


def test_next_match(folder, page):
    page.open(make(folder, 'a', STACKS))
    page.key('f', control=True)
    page.type('read')
    page.key('Enter')
    check(page.eval(CURSOR)['name'], 'read')
    page.key('n')
    check(page.eval(CURSOR)['name'], 'sys_read')
    page.key('n')
    check(page.eval(CURSOR)['name'], 'read')
    page.key('N')
    check(page.eval(CURSOR)['name'], 'sys_read')


def test_address(folder, page):
    path = make(folder, 'a', STACKS)
    page.open(path)
    click_label(page, 'read')
    matched(page, 'COPY')
    page.key('i', control=True)
    where = hash_of(page)
    check(where.endswith('&s=COPY&i=1'), True)
    page.open(path, where)
    check(text_of(page, '#matched'), '75.00 %')
    check(label(page, 'compute'), None)
    for bad in ('#x=99999&s=(', '#x=-1', '#x=1e400', '#x=0.5&f=2', '#%', '#s=%ff'):
        page.open(path, bad)
        check(label(page, 'all') is not None, True)


def test_back(folder, page):
    page.open(make(folder, 'a', STACKS))
    click_label(page, 'compute')
    click_label(page, 'multiply')
    check(label(page, 'load')['x'] > 100, True)
    page.key('Backspace')
    page.eval('new Promise((done) => setTimeout(done, 200))')
    check((label(page, 'read'), label(page, 'Multiply_slow') is not None), (None, True))
    page.eval('history.back()')
    page.eval('new Promise((done) => setTimeout(done, 200))')
    check(label(page, 'read') is not None, True)


def test_tooltip(folder, page):
    page.open(make(folder, 'a', STACKS))
    at = label(page, 'sys_read')
    page.mouse('mouseMoved', at['x'] + 20, at['y'] + 5)
    page.settle()
    check(text_of(page, '#tip b'), 'sys_read')
    check(text_of(page, '#tip div').split('\n'),
          ['kernel', 'total 15 samples \u00b7 15.00 %', 'self 0', '75.00 % of read'])
    check(text_of(page, '#detail').startswith('sys_read   kernel   total 15 samples'), True)
    page.mouse('mouseMoved', 5, 5)
    page.settle()
    check(page.eval("document.querySelector('#tipbox').getAttribute('display')"), 'none')


def test_hostile_names(folder, page):
    """Each name is a stack of its own: all are found in the picture, and none does anything."""
    lines = [name.encode() + b' 1\n' for name in HOSTILE] + [raw + b' 1\n' for raw, _ in SHOWN]
    path = make(folder, 'a', b''.join(lines), '--title', HOSTILE[0])
    names = {element.text.split('\n')[0] for element in xml.parse(path).getroot().findall(
        f".//{SVG}g[@id='frames']/{SVG}g/{SVG}title")}
    check(names, {'all', *HOSTILE, *(shown for _, shown in SHOWN)})
    page.open(path)
    seen = set()
    for number in range(1, 1 + len(lines)):
        page.open(path, f'#x={number}&s=a')
        page.eval("document.querySelector('#cursor').focus()")
        page.key('ArrowUp')
        seen.add(page.eval(CURSOR)['name'])
        at = page.eval(LABELS)
        page.mouse('mouseMoved', 60, at[-1]['y'] + 5)
        page.settle()
    check(seen, names - {'all'})
    check(page.eval('typeof window.bad'), 'undefined')
    check(page.eval("document.querySelectorAll('script').length"), 2)
    check(page.eval("document.querySelectorAll('img').length"), 0)
    check(page.eval('document.title'), HOSTILE[0])


def test_deep_stack(folder, page):
    text = ';'.join(f'f{i}' for i in range(10000)) + ' 1\n'
    page.open(make(folder, 'a', text))
    check(page.eval('document.documentElement.height.baseVal.value') <= 20200, True)
    check(page.eval(LABELS), [])
    page.open(os.path.join(folder, 'a.svg'), '#x=9990')
    check(label(page, 'f9999') is not None, True)
    check(label(page, 'f1'), None)


def test_narrow_frames_show_when_zoomed(folder, page):
    """30,000 equal stacks: none is wide enough to be drawn, each can be zoomed to."""
    count = 30000
    text = ''.join(f'main;work;step{i};leaf{i} 1\n' for i in range(count)) + 'main;wide 3000\n'
    path = make(folder, 'a', text)
    check(os.path.getsize(path) < 2 << 20, True)
    page.open(path)
    check(text_of(page, '#foot .minor'), '4 frames, 60,000 more when zoomed')
    names = set()
    for number in range(3, 60003, 5001):
        page.open(path, f'#x={number}')
        name = label(page, 'work') and page.eval(LABELS)[-1]['text']
        check(page.eval(LABELS)[-1]['right'] > 30, True)
        names.add(name)
    check(len(names), 12)
    page.open(path)
    page.mouse('mouseMoved', 600, label(page, 'work')['y'] - 12)
    page.settle()
    check(text_of(page, '#tip b').startswith('step'), True)
    check('total 1 samples' in text_of(page, '#tip div'), True)
    page.click(600, label(page, 'work')['y'] - 12)
    first = page.eval(CURSOR)['name']
    check(first.startswith('step'), True)
    near(page.eval(CURSOR)['width'], INNER)
    page.key('Escape')
    page.key('/')
    page.type('^leaf12345$')
    page.key('Enter')
    page.settle()
    check(page.eval(CURSOR)['name'], 'leaf12345')
    page.key('Enter')
    page.settle()
    check(page.eval(CURSOR)['name'], 'leaf12345')
    near(page.eval(CURSOR)['width'], INNER)
    check(text_of(page, '#matched'), '100.00 %')


def test_narrow_frames_of_a_difference(folder, page):
    text = 'main;wide 500000 500000\n' + ''.join(f'main;n{i} {i % 3} {2 * i % 7}\n' for i in range(2000))
    path = make(folder, 'a', text)
    page.open(path, '#s=^n1999$')
    page.eval("document.querySelector('#search').focus()")
    page.key('Enter')
    page.settle()
    check(page.eval(CURSOR)['name'], 'n1999')
    check('before 1 ' in text_of(page, '#detail'), True)


def test_frames_without_room_for_a_name(folder, page):
    """They are a path in the file, and have name and numbers where the script runs."""
    text = ''.join(f'main;work;step{i};leaf{i} 10\nmain;work;step{i} 5\n' for i in range(100))
    path = make(folder, 'a', text)
    check(os.path.getsize(path) < 60000, True)
    with open(path, encoding='utf-8') as file:
        check(file.read().count('<title>step'), 0)
    page.open(path)
    page.mouse('mouseMoved', 600, label(page, 'work')['y'] - 12)
    page.settle()
    check(text_of(page, '#tip b').startswith('step'), True)
    check(text_of(page, '#tip div').split('\n'), ['total 15 samples \u00b7 1.00 %', 'self 5 samples \u00b7 0.33 %', '1.00 % of work'])
    page.set_script(False)
    page.open(path)
    check(page.eval("document.querySelectorAll('#frames > path').length") > 0, True)


def test_min_percent_leaves_out(folder, page):
    text = 'main;wide 1000000\n' + ''.join(f'main;n{i} 1\n' for i in range(50))
    path = make(folder, 'a', text, '--min-percent', '0.1')
    page.open(path)
    check(text_of(page, '#foot .minor'), '3 frames; left out: 50 too narrow')
    for pattern, want in (('n1', '0.00 to 0.01 %'), ('wide', '99.99 to 100.00 %'), ('main', '100.00 %')):
        page.open(path)
        check(matched(page, pattern), want)


def test_search_bounds_what_is_left_out(folder, page):
    """What may match besides is what is not below a match, in the zoomed frame."""
    text = 'main;a;wide 800\n' + ''.join(f'main;a;n{i} 1\nmain;b;m{i};deep 1\n' for i in range(50)) + 'main;c;wide 100\n'
    path = make(folder, 'a', text, '--min-percent', '1')
    for pattern, want in (('n1|m2', '0.00 to 10.00 %'), ('^b$', '5.00 to 10.00 %'),
                          ('wide', '90.00 to 100.00 %')):
        page.open(path)
        check(matched(page, pattern), want)
    click_label(page, 'c')
    check(text_of(page, '#matched'), '100.00 %')


def test_screenshot_of_a_high_picture(folder, page):
    """It is not scrolled away from where browsers without a screen take their picture."""
    path = make(folder, 'a', ';'.join(f'f{i}' for i in range(200)) + ' 1\n')
    page.open(path)
    check(page.eval('window.scrollY'), 0)


def test_without_script(folder, page):
    path = make(folder, 'a', STACKS)
    page.set_script(False)
    page.open(path)
    boxes = page.eval('''Array.from(document.querySelectorAll('#frames > g'), (g) => ({
        name: g.querySelector('title').textContent.split('\\n')[0],
        width: g.querySelector('rect').getBoundingClientRect().width,
        text: g.querySelector('text') ? g.querySelector('text').getComputedTextLength() : 0 }))''')
    check(len(boxes), 14)
    check([box for box in boxes if box['text'] > box['width'] - 3], [])
    near(boxes[0]['width'], 1180)
    check(page.eval("document.querySelector('#live')"), None)


def test_dark(folder, page):
    page.set_dark(True)
    page.open(make(folder, 'a', STACKS))
    check(page.eval("getComputedStyle(document.querySelector('.back')).fill"), 'rgb(23, 25, 30)')
    check(page.eval("getComputedStyle(document.querySelector('#labels text')).fill"),
          'rgb(230, 232, 236)')


def test_print(folder, page):
    """On paper it is light and has no buttons, whatever the desktop prefers."""
    page.open(make(folder, 'a', STACKS))
    page.call('Emulation.setEmulatedMedia', media='print',
              features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    check(page.eval("getComputedStyle(document.querySelector('.back')).fill"), 'rgb(255, 255, 255)')
    check(page.eval("getComputedStyle(document.querySelector('#tools')).display"), 'none')


def test_diff(folder, page):
    """Two values a line; the tooltip tells the change."""
    page.open(make(folder, 'a', 'main;grew 10 40\nmain;shrank 40 10\nmain;same 50 50\nnew 0 9\nold 9 0\n',
                   '--normalize', 'total'))
    check(label(page, 'old'), None)
    for name, words in (('grew', 'change +27.52 points (+300.0 %)'), ('new', 'new'),
                        ('same', 'change +0.00 points (+0.0 %)')):
        at = label(page, name)
        page.mouse('mouseMoved', at['x'] + 4, at['y'] + 5)
        page.settle()
        check(words in text_of(page, '#tip div').split('\n'), True)
    check(text_of(page, '#head .minor:last-of-type').endswith('gone: 8.26 % old'), True)


def test_options(folder, page):
    page.open(make(folder, 'a', STACKS, '--icicle', '--reverse'))
    check(label(page, 'all')['y'] < label(page, 'load')['y'], True)
    page.open(make(folder, 'a', STACKS, '--min-percent', '12'))
    check(label(page, 'other'), None)
    check(text_of(page, '#foot .minor'), '8 frames; left out: 6 too narrow')
    page.open(make(folder, 'a', STACKS, '--focus', 'copy'))
    check(label(page, 'compute'), None)


cases.main(globals(), (WIDTH, HEIGHT))
