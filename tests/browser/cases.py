# SPDX-License-Identifier: MIT
"""cases: runs the cases of a test in one browser, each in a folder of its own. Prints TAP."""
import shutil
import sys
import tempfile
import traceback

import browser

HOSTILE = [
    '</script><script>window.bad = 1</script>',
    ']]><script>window.bad = 1</script>',
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    '&lt<b>&#60b&amp',
    '${alert(1)}`+alert(1)+`',
    'javascript:alert(1)',
    '\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd',
    '\u4e2d\u6587\u540d\u79f0 \U0001f525',
    'a' + 'b' * 3000,
]
# What is no text is shown as text: bytes, and what stands there.
SHOWN = [
    (b'bell\x07esc\x1b[31m', 'bell\\x07esc\\x1b[31m'),
    (b'bad\xff\xc3utf8', 'bad\\xff\\xc3utf8'),
    ('turn\u202earound'.encode(), 'turn\\u202earound'),
    ('no\uffffchar'.encode(), 'no\\uffffchar'),
]


def check(got, want):
    if got != want:
        raise AssertionError(f'got {got!r}, want {want!r}')


def near(got, want, within=1.0):
    if got is None or abs(got - want) > within:
        raise AssertionError(f'got {got!r}, want about {want!r}')


def run(case, page, size):
    folder = tempfile.mkdtemp(prefix='auger-browser-')
    try:
        page.begin(*size)
        case(folder, page)
        check(page.problems, [])
        return True
    except Exception:  # any failure fails the case, the others go on
        traceback.print_exc()
        return False
    finally:
        shutil.rmtree(folder)


def main(module, size):
    """Runs the functions test_... of a module, or those that the command line names."""
    cases = [(name, case) for name, case in module.items() if name.startswith('test_')]
    chosen = [(name, case) for name, case in cases if not sys.argv[2:] or name in sys.argv[2:]]
    if not browser.find():
        print('1..0 # SKIP no Chromium on this machine')
        return
    page = browser.Page()
    failed = 0
    try:
        for number, (name, case) in enumerate(chosen, 1):
            ok = run(case, page, size)
            failed += not ok
            print(f"{'ok' if ok else 'not ok'} {number} - {name}", flush=True)
    finally:
        page.close()
    print(f'1..{len(chosen)}')
    sys.exit(failed > 0)
