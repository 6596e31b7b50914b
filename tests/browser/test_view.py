#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_view.py AUGER: the page of auger view in a real browser. Prints TAP."""
import json
import os
import subprocess
import sys

import cases
from cases import HOSTILE, SHOWN, check

AUGER = os.path.realpath(sys.argv[1])
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../golden')
SIZE = (1240, 800)
LEFT = 12  # of the picture
ROW = 18

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


def make(folder, name, text, *options):
    """A page of folded stacks; its path."""
    data = text if isinstance(text, bytes) else text.encode()
    path = os.path.join(folder, name + '.html')
    subprocess.run([AUGER, 'view', '-', '-o', path, *options], input=data, check=True, stderr=subprocess.DEVNULL)
    return path


def show(page, path, fragment=''):
    page.open(path, fragment)
    page.wait("document.documentElement.dataset.ready === '1'")
    page.settle()


def text_of(page, selector):
    return page.eval(f'document.querySelector({json.dumps(selector)}).textContent')


def rows(page, panel):
    """The cells of the rows on the screen."""
    return page.eval(f'''Array.from(document.querySelector('#panel-{panel} .rows').querySelectorAll('tbody tr:not(.space)'),
        (row) => Array.from(row.children, (cell) => cell.textContent))''')


def press(page, selector):
    page.eval(f'document.querySelector({json.dumps(selector)}).click()')
    page.settle()


def point(page, x, row):
    """Clicks into the picture: x in pixels from its left, a row from its top."""
    top = page.eval("document.querySelector('#view canvas').getBoundingClientRect().top")
    page.click(LEFT + x, top + ROW * row + 8)


def detail(page):
    return text_of(page, '#detail b')


def fragment(page):
    return page.eval('location.hash')


def search(page, text):
    page.key('/')
    page.type(text)
    return text_of(page, '#matched')


# Each case gets a folder for its files and an empty page; what a page must not do fails it.

def test_tabs(folder, page):
    show(page, make(folder, 'a', STACKS))
    for number, tab in enumerate(('flame', 'functions', 'tree', 'graph', 'summary'), 1):
        page.key(str(number))
        shown = page.eval("Array.from(document.querySelectorAll('[role=tabpanel]')).filter((p) => !p.hidden).map((p) => p.id)")
        check(shown, ['panel-' + tab])
    check(page.eval("document.querySelector('[role=tab][aria-selected=true]').textContent"), 'Summary')
    check('main' in page.eval("document.querySelector('#panel-summary').textContent"), False)
    check('functions' in text_of(page, '#panel-summary'), True)


def test_zoom(folder, page):
    show(page, make(folder, 'a', STACKS))
    point(page, 10, 2)
    check(detail(page), 'compute')
    check('zoom=2' in fragment(page), True)
    point(page, 10, 1)  # an ancestor zooms out
    check(detail(page), 'main')
    page.key('Escape')
    check('zoom' in fragment(page), False)
    page.key('Backspace')
    page.wait("location.hash.includes('zoom=1')")


def test_keys(folder, page):
    show(page, make(folder, 'a', STACKS))
    page.eval("document.querySelector('#view').focus()")
    for key, name in (('ArrowDown', 'main'), ('ArrowDown', 'compute'), ('ArrowRight', 'read'), ('ArrowDown', 'sys_read'),
                      ('ArrowUp', 'read'), ('ArrowLeft', 'compute'), ('Home', 'all')):
        page.key(key)
        check(detail(page), name)
    page.key('f')
    check(page.eval("document.querySelector('.tools [aria-pressed=true]').textContent"), 'Root below')
    page.key('ArrowUp')
    check(detail(page), 'main')
    page.key('?')
    check(page.eval("document.querySelector('#help').open"), True)
    page.key('Escape')
    page.wait("!document.querySelector('#help').open")


def test_search(folder, page):
    show(page, make(folder, 'a', STACKS))
    # A stack with several matching frames counts once.
    for pattern, want in (('multiply', '60.00%'), ('compute', '65.00%'), ('copy|load', '45.00%'), ('nothing', '0.00%'),
                          ('find(int', '10.00%')):
        page.eval("document.querySelector('#search').value = ''")
        check(search(page, pattern), want)
        page.key('Escape')
        page.key('Escape')
    check(search(page, 'MULTI'), '0.00%')
    page.key('i', control=True)
    check(text_of(page, '#matched'), '70.00%')
    page.key('Enter')
    check(detail(page), 'multiply')
    page.key('n')
    check(detail(page), 'multiply')
    page.key('2')
    hits = page.eval("Array.from(document.querySelectorAll('#panel-functions tr.hit td.name'), (td) => td.textContent)")
    check(hits, ['multiply', 'Multiply_slow'])


def test_functions(folder, page):
    show(page, make(folder, 'a', STACKS), '#tab=functions')
    check(rows(page, 'functions')[0][:5], ['30', '30.00%', '60', '60.00%', 'multiply'])
    page.eval("document.querySelectorAll('#panel-functions th button')[1].click()")
    page.settle()
    check(rows(page, 'functions')[0][2:5], ['95', '95.00%', 'main'])
    page.eval("document.querySelectorAll('#panel-functions tbody tr td.name')[1].click()")
    page.settle()
    check(text_of(page, '.side h2'), rows(page, 'functions')[1][4])
    sides = page.eval('''Array.from(document.querySelectorAll('.side .rows'), (side) => Array.from(side.querySelectorAll('td.name'),
        (cell) => cell.textContent))''')
    check(len(sides), 2)
    check(page.eval("document.querySelector('#panel-functions table').getAttribute('aria-rowcount')"), '11')


def test_tree(folder, page):
    show(page, make(folder, 'a', STACKS), '#tab=tree')
    names = [row[4].lstrip('\u25b8\u25be') for row in rows(page, 'tree')]
    check(names[:4], ['main', 'compute', 'multiply', 'load'])
    page.eval("document.querySelector('#panel-tree .rows').focus()")
    page.key('ArrowLeft')
    check([row[4].lstrip('\u25b8\u25be') for row in rows(page, 'tree')], ['main', 'other'])
    page.key('ArrowRight')
    check(len(rows(page, 'tree')), 5)
    check(page.eval("document.querySelector('#panel-tree tr[aria-level]').getAttribute('aria-expanded')"), 'true')


def test_graph(folder, page):
    show(page, make(folder, 'a', STACKS), '#tab=graph')
    check(page.eval("document.querySelectorAll('#panel-graph .box').length"), 10)
    boxes = page.eval("""Array.from(document.querySelectorAll('#panel-graph .box'), (box) => box.getAttribute('aria-label'))""")
    check('compute, self 0.00%, total 65.00%' in boxes, True)
    calls = page.eval("Array.from(document.querySelectorAll('#panel-graph .call title'), (title) => title.textContent)")
    check('main calls compute: 65, 65.00%' in calls, True)
    page.eval("document.querySelector('#panel-graph .box').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    page.settle()
    check(page.eval("document.querySelectorAll('#panel-graph .chosen').length"), 1)


def test_filters(folder, page):
    show(page, make(folder, 'a', STACKS), '#tab=functions')
    page.eval("document.querySelector('#filter').focus()")
    page.type('read')
    page.key('Enter')
    check([row[4] for row in rows(page, 'functions')], ['copy_to_user', 'read', 'main', 'sys_read'])
    check(text_of(page, '.chip b'), 'focus')
    check('c=focus%3Aread' in fragment(page), True)
    page.eval("document.querySelector('.chip button').click()")
    page.settle()
    check(len(rows(page, 'functions')), 10)
    page.eval('history.back()')
    page.wait("document.querySelectorAll('.chip').length === 1")


def test_address(folder, page):
    path = make(folder, 'a', STACKS)
    show(page, path, '#tab=functions&search=mult&c=ignore%3Aother&sort=total')
    check(text_of(page, '#matched'), '57.89%')
    check(rows(page, 'functions')[0][4], 'main')
    for bad in ('#zoom=99999&fn=-3&tab=x', '#c=evil:x&c=focus:(&type=9', '#%', '#search=%ff'):
        show(page, path, bad)
        check(page.eval("document.querySelectorAll('#app').length"), 1)


def test_difference(folder, page):
    path = make(folder, 'a', 'main;grew 10 40\nmain;shrank 40 10\nmain;same 50 50\nold 9 0\nnew 0 9\n')
    show(page, path)
    check([[row[0], row[1], row[2], row[6]] for row in rows(page, 'diff')], [
        ['10', '40', '+30', 'grew'], ['40', '10', '-30', 'shrank'], ['0', '9', '+9', 'new'], ['9', '0', '-9', 'old'],
        ['50', '50', '0', 'same']])
    page.key('1')
    page.eval("document.querySelector('#view').focus()")
    page.key('ArrowDown')
    check('before' in text_of(page, '#detail'), True)


def test_labels(folder, page):
    path = os.path.join(folder, 'a.html')
    files = []
    for number in range(3):
        files.append(os.path.join(folder, f'rank{number}.folded'))
        with open(files[-1], 'w', encoding='utf-8') as file:
            file.write(f'main;work {10 + number}\nmain;wait {3 - number}\n')
    subprocess.run([AUGER, 'view', *files, '-o', path], check=True, stderr=subprocess.DEVNULL)
    show(page, path, '#tab=labels')
    check('3 values of file' in text_of(page, '#panel-labels .words'), True)
    page.eval("document.querySelector('#panel-labels th[scope=row] button').click()")
    page.settle()
    check(text_of(page, '.chip').startswith('label file='), True)
    check(page.eval("document.querySelectorAll('#panel-labels tbody tr').length"), 1)


def test_wall_clock(folder, page):
    path = os.path.join(folder, 'a.html')
    subprocess.run([AUGER, 'view', os.path.join(GOLDEN, 'flame/waiting.pb.gz'), '-o', path], check=True, stderr=subprocess.DEVNULL)
    show(page, path, '#type=-1')
    check('off the CPU' in text_of(page, '.legend'), True)
    check(page.eval("document.querySelector('#type').value"), '-1')


def test_hostile_names(folder, page):
    """All are in the tables as text, and none does anything."""
    lines = [name.encode() + b' 1\n' for name in HOSTILE] + [raw + b' 1\n' for raw, _ in SHOWN]
    show(page, make(folder, 'a', b''.join(lines), '--title', HOSTILE[0]), '#tab=functions')
    names = page.eval("Array.from(document.querySelectorAll('#panel-functions td.name'), (td) => td.textContent)")
    check(set(names), {*HOSTILE, *(shown for _, shown in SHOWN)})
    check(text_of(page, 'h1'), HOSTILE[0])
    check(page.eval('typeof window.bad'), 'undefined')
    check(page.eval("document.querySelectorAll('img, iframe, #app script').length"), 0)
    page.eval("document.querySelectorAll('#panel-functions td.name').forEach((td) => td.click())")
    for tab in ('1', '3', '4', '7'):
        page.key(tab)
    page.mouse('mouseMoved', 40, 150)
    page.settle()


def test_policy(folder, page):
    """Nothing but the page's own script and style works."""
    show(page, make(folder, 'a', STACKS))
    check(page.eval('''fetch('file:///etc/hostname').then(() => 'read', () => 'refused')'''), 'refused')
    check(page.eval('''(() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1';
        document.body.append(s); return typeof window.bad })()'''), 'undefined')
    check(page.eval('Object.keys(localStorage).length'), 0)


def test_deep_stack(folder, page):
    text = ';'.join(f'f{i}' for i in range(20000)) + ' 1\n'
    show(page, make(folder, 'a', text))
    show(page, os.path.join(folder, 'a.html'), '#zoom=19990')
    page.eval("document.querySelector('#view').focus()")
    for tab in ('2', '3', '4', '1'):
        page.key(tab)
    show(page, os.path.join(folder, 'a.html'), '#inverted=1')


def test_many_thin_frames(folder, page):
    """Frames that are too thin to be drawn are counted and found."""
    text = ''.join(f'main;work;step{i};leaf{i} 1\n' for i in range(30000)) + 'main;wide 30000\n'
    show(page, make(folder, 'a', text))
    search(page, 'leaf')
    page.wait("!document.querySelector('#matched').textContent.startsWith('at least')")
    check(text_of(page, '#matched'), '50.00%')
    page.key('Escape')
    page.eval("document.querySelector('#search').value = ''")
    search(page, '^leaf123$')
    page.wait("!document.querySelector('#matched').textContent.startsWith('at least')")
    check(text_of(page, '#matched'), '0.00%')
    page.key('Enter')
    check(detail(page), 'leaf123')
    page.key('Enter')
    check(text_of(page, '#matched'), '100.00%')


TIMED = os.path.join(GOLDEN, '../fuzz/corpus/perfdata/two_events')


def drag(page, begin, end):
    """Over the lanes, from one part of their width to another."""
    left, top, width = page.eval("(() => { const box = document.querySelector('#lanes canvas').getBoundingClientRect(); "
                                 "return [box.left, box.top, box.width] })()")
    at = [left + 190 + part * (width - 190) for part in (begin, end)]  # behind the names
    page.mouse('mouseMoved', at[0], top + 30)
    page.mouse('mousePressed', at[0], top + 30, button='left', clickCount=1)
    page.mouse('mouseMoved', at[1], top + 34, button='left', buttons=1)
    page.mouse('mouseReleased', at[1], top + 34, button='left', clickCount=1)
    page.settle()


def total(page):
    return page.eval("document.querySelector('#panel-timeline td.number') && document.querySelectorAll('#panel-timeline tbody tr:not(.space)').length")


def test_timeline(folder, page):
    """A part of the time filters all tabs, and is in the address."""
    path = os.path.join(folder, 'a.html')
    subprocess.run([AUGER, 'view', TIMED, '-o', path], check=True, stderr=subprocess.DEVNULL)
    show(page, path)
    page.key('2')
    check('Timeline' in text_of(page, '[role=tab][aria-selected=true]'), True)
    rows_of_all = total(page)
    drag(page, 0, .5)
    check('from=' in fragment(page) or 'to=' in fragment(page), True)
    check(text_of(page, '#chips b'), 'time')
    check(0 < total(page) <= rows_of_all, True)
    link = fragment(page)
    words = text_of(page, '#span')
    show(page, path, link)
    check(text_of(page, '#span'), words)
    page.key('3')
    check(page.eval("document.querySelectorAll('#panel-functions tbody tr:not(.space)').length") > 0, True)
    page.key('Escape')
    check('to=' in fragment(page), False)
    check(page.eval("document.querySelectorAll('#chips .chip').length"), 0)
    page.key('2')
    page.eval("document.querySelector('#lanes').focus()")
    for key in ('ArrowRight', '+', '-', 'ArrowRight', 'ArrowLeft'):
        page.key(key)
        check('to=' in fragment(page), True)
    page.eval("""(() => { const set = (id, text) => { const field = document.querySelector(id); field.value = text;
        field.dispatchEvent(new Event('change')); }; set('#from', '0'); set('#to', '0.001'); })()""")
    page.settle()
    check('to=' in fragment(page), True)
    page.key('1')
    page.key('o')
    check(page.eval("document.querySelector('#order').getAttribute('aria-pressed')"), 'true')
    check('ordered=1' in fragment(page), True)
    page.key('i')
    check(page.eval("document.querySelector('#order').getAttribute('aria-pressed')"), 'false')
    page.call('Emulation.setEmulatedMedia', media='print', features=[])
    page.settle()


def test_source(folder, page):
    """Lines of the source, with what they cost."""
    source = os.path.join(folder, 'a.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('int work(int n)\n{\n\treturn n * n; // </script>\n}\n')
    text = f'a 7 1.500000: 1000000 cpu-clock:\n\t  401136 work+0x10 (/nowhere/prog)\n  {source}:3\n\n'
    show(page, make(folder, 'a', text, '--source'), '#tab=source')
    cells = rows(page, 'source')
    check(cells[2][1:], ['100.00%', '1.00 ms', '3', '        return n * n; // </script>'])
    check([row[3] for row in cells], ['1', '2', '3', '4'])
    show(page, make(folder, 'b', text))
    check(page.eval("document.querySelector('#tab-source')"), None)


def test_empty(folder, page):
    show(page, make(folder, 'a', '\n', '--from', 'folded'))
    for tab in '12347':
        page.key(tab)


def test_without_script(folder, page):
    path = make(folder, 'a', STACKS)
    page.set_script(False)
    page.open(path)
    check('load' in page.eval("document.querySelector('#plain table').textContent"), True)
    check(page.eval("document.querySelector('#app')"), None)


def test_theme_and_print(folder, page):
    page.set_dark(True)
    show(page, make(folder, 'a', STACKS))
    check(page.eval('getComputedStyle(document.body).backgroundColor'), 'rgb(23, 25, 30)')
    page.key('t')
    check(page.eval('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)')
    page.key('t')
    page.call('Emulation.setEmulatedMedia', media='print', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    check(page.eval('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)')
    check(page.eval("getComputedStyle(document.querySelector('#search')).display"), 'none')


cases.main(globals(), SIZE)
