"""A headless Chromium, spoken to over a pair of pipes in its own protocol (DevTools).

    with Browser(folder) as browser:
        page = browser.open(path)
        page.evaluate("document.title")

Pages are files. What a page asks the network for is in page.requests.
"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess

SECONDS = 60
CHROMIUM = shutil.which("chromium")
WORDS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check",
         "--remote-debugging-pipe", "--window-size=1200,900"]


class Browser:
    def __init__(self, folder):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def place_pipes():
            """The browser reads from descriptor 3 and writes to 4."""
            high = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (to_browser, from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
            for end in high:
                os.close(end)

        with open(folder / "chromium.log", "wb") as log:
            self.process = subprocess.Popen([CHROMIUM, *WORDS, f"--user-data-dir={folder}/profile", "about:blank"], close_fds=False,
                                            preexec_fn=place_pipes, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, "HOME": str(folder)})
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.pages = b"", 0, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.write_end)  # it ends with the pipe
        os.close(self.read_end)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def read(self):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], SECONDS)
            assert ready, "chromium does not answer"
            chunk = os.read(self.read_end, 1 << 16)
            assert chunk, "chromium has ended"
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        page = self.pages.get(message.get("sessionId"))
        if page:
            page.take(message)
        return message

    def call(self, method, session=None, **params):
        """The result of a command."""
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        return Page(self, path)


class Page:
    def __init__(self, browser, path):
        self.browser, self.requests, self.is_loaded = browser, [], False
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        self.call("Network.enable")
        self.call("Page.enable")
        self.call("Page.navigate", url=f"file://{path}")
        while not self.is_loaded:
            browser.read()

    def take(self, message):
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        self.is_loaded = self.is_loaded or message.get("method") == "Page.loadEventFired"

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def emulate(self, media="", **features):
        """The medium, and features such as prefers_color_scheme."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=named)

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
