# SPDX-License-Identifier: MIT
"""browser: headless Chromium driven through a pipe, with nothing but Python's own library.

Source: Chrome DevTools Protocol, https://chromedevtools.github.io/devtools-protocol/: JSON messages
that end with NUL, to file descriptor 3 of the browser and back from its 4.
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

TIMEOUT_S = 60


def find():
    """The path of a Chromium, or None."""
    for name in ('chromium', 'chromium-browser', 'google-chrome', 'chrome'):
        path = shutil.which(name)
        if path:
            return path
    return None


class Failed(Exception):
    """The browser answered with an error, or not in time."""


class Page:
    """One browser with one page; close() ends it and removes what it wrote."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix='auger-browser-')
        self.problems = []  # uncaught errors, dialogs, requests to the network
        self.bytes = b''
        self.last_id = 0
        self.has_script = True
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()
        for fd in (to_browser, from_browser):
            os.set_inheritable(fd, True)
        command = [find(), '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
                   '--disable-background-networking', '--disable-component-update', '--disable-sync',
                   '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-pipe',
                   f'--user-data-dir={self.profile}']
        # The shell moves the ends of the pipes to where the browser looks for them.
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ['bash', '-c', shell, 'bash'] + command, pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=dict(os.environ, TMPDIR=self.profile))
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network'):
            self.call(domain + '.enable')
        self.begin()

    def begin(self, width=1240, height=800):
        """As a new browser: nothing is open, light colors, scripts run."""
        self.call('Page.navigate', url='about:blank')
        self.resize(width, height)
        self.set_dark(False)
        self.set_script(True)
        self.problems = []

    def resize(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def set_dark(self, is_dark):
        self.call('Emulation.setEmulatedMedia', media='', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if is_dark else 'light'}])

    def set_script(self, has_script):
        self.has_script = has_script
        self.call('Emulation.setScriptExecutionDisabled', value=not has_script)

    def close(self):
        os.close(self.write_fd)
        os.close(self.read_fd)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        # Its helpers write into the profile for as long as they live.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for _ in range(50):
            shutil.rmtree(self.profile, ignore_errors=True)
            if not os.path.exists(self.profile):
                break
            time.sleep(0.1)

    def note(self, message):
        """Keeps what a page must not do."""
        params = message.get('params', {})
        if message['method'] == 'Runtime.exceptionThrown':
            details = params['exceptionDetails']
            self.problems.append('error: ' + details.get('exception', {}).get(
                'description', details['text']))
        elif message['method'] == 'Page.javascriptDialogOpening':
            self.problems.append('dialog: ' + params['message'])
            self.send('Page.handleJavaScriptDialog', accept=False)
        elif message['method'] == 'Network.requestWillBeSent':
            url = params['request']['url']
            if not url.startswith(('file:', 'about:', 'data:')):
                self.problems.append('request: ' + url)

    def send(self, method, **params):
        self.last_id += 1
        message = {'id': self.last_id, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.write_fd, data):]
        return self.last_id

    def receive(self, until):
        """The next message, or None when the time is over."""
        while b'\0' not in self.bytes:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                return None
            got = os.read(self.read_fd, 1 << 20)
            if not got:
                raise Failed('the browser ended')
            self.bytes += got
        text, self.bytes = self.bytes.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, **params):
        number = self.send(method, **params)
        until = time.monotonic() + TIMEOUT_S
        while True:
            message = self.receive(until)
            if message is None:
                raise Failed(method + ': no answer')
            if message.get('id') == number:
                if 'error' in message:
                    raise Failed(f"{method}: {message['error']['message']}")
                return message['result']
            if 'method' in message:
                self.note(message)

    def open(self, path, fragment=''):
        """Loads a file; returns when its scripts ran."""
        self.call('Page.navigate', url='about:blank')
        self.call('Page.navigate', url='file://' + os.path.realpath(path) + fragment)
        until = time.monotonic() + TIMEOUT_S
        while self.eval('document.readyState + location.protocol') != 'completefile:':
            if time.monotonic() > until:
                raise Failed(path + ': not loaded')
            time.sleep(0.02)
        self.settle()

    def eval(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in result:
            raise Failed(expression + ': ' + result['exceptionDetails']['exception']['description'])
        return result['result'].get('value')

    def wait(self, condition):
        """Waits until a JavaScript expression is true."""
        until = time.monotonic() + TIMEOUT_S
        while not self.eval(f'Boolean({condition})'):
            if time.monotonic() > until:
                raise Failed(condition + ': never')
            time.sleep(0.02)

    def settle(self):
        """Waits until what was asked for is painted."""
        if not self.has_script:
            time.sleep(0.1)
            return
        self.eval('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, button='left', clickCount=1)
        self.mouse('mouseReleased', x, y, button='left', clickCount=1)
        self.settle()

    def key(self, key, control=False):
        """One key as KeyboardEvent.key names it."""
        named = {'Enter': 13, 'Escape': 27, 'Backspace': 8, 'ArrowLeft': 37, 'ArrowUp': 38,
                 'ArrowRight': 39, 'ArrowDown': 40, 'Home': 36, 'F3': 114, 'Tab': 9}
        code = named.get(key, ord(key[0].upper()))
        text = '\r' if key == 'Enter' else '' if key in named or control else key
        event = {'key': key, 'windowsVirtualKeyCode': code, 'modifiers': 2 if control else 0}
        self.call('Input.dispatchKeyEvent', type='keyDown' if text else 'rawKeyDown', text=text, **event)
        self.call('Input.dispatchKeyEvent', type='keyUp', **event)
        self.settle()

    def type(self, text):
        self.call('Input.insertText', text=text)
        self.settle()

    def shot(self, path, whole=False):
        """A PNG of the window, or of the whole page."""
        data = self.call('Page.captureScreenshot', captureBeyondViewport=whole)['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))
