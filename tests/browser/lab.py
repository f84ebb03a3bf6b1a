"""A real JupyterLab, seen and used as a reader does: what the browser tests are made of."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from playwright.sync_api import Locator, Page

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "apputils-extension/themes": {"adaptive-theme": True},  # the page's colour scheme chooses
    "notebook-extension/tracker": {"windowingMode": "none"},  # every cell is really on the page
    "docmanager-extension/plugin": {"autosave": False},
}
_PANEL = "window.jupyterapp.shell.currentWidget"
_SCROLLER = "document.querySelector('.jp-WindowedPanel-outer')"


@contextmanager
def jupyterlab(root: Path, home: Path) -> Iterator[str]:
    """A JupyterLab on `root` that neither reads nor writes the settings of whoever runs the tests.

    Args:
        root: the folder it shows.
        home: an empty folder for its own files; ``home/log`` says what it said.

    Yields:
        Its address, as a pattern for ``.format(path)``.
    """
    for name, value in SETTINGS.items():
        file = home / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.root_dir": root,
        "IdentityProvider.token": token,
        "LabApp.expose_app_in_browser": True,
        "LabApp.user_settings_dir": home / "settings",
        "LabApp.workspaces_dir": home / "workspaces",
    }
    folders = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "IPYTHONDIR": home / "ipython",
    }
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
            + [f"--{name}={value}" for name, value in options.items()],
            env={**os.environ, **{name: str(path) for name, path in folders.items()}},
            stdout=log,
            stderr=log,
        )
        try:
            _wait_until_up(
                f"http://127.0.0.1:{port}/api/status?token={token}", server, home / "log"
            )
            yield f"http://127.0.0.1:{port}/doc/tree/{{}}?token={token}&reset"
        finally:
            server.terminate()
            server.wait(20)


def _wait_until_up(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        with suppress(OSError), urllib.request.urlopen(address, timeout=1):
            return
        assert server.poll() is None, f"JupyterLab stopped at its start:\n{log.read_text()}"
        time.sleep(0.1)
    raise TimeoutError(f"JupyterLab did not come up in a minute:\n{log.read_text()}")


def open_notebook(page: Page, address: str, path: str) -> None:
    """Open a notebook on its own and wait for its kernel: the page looks idle too early."""
    page.goto(address.format(path))
    page.wait_for_function(
        """() => {
            const panel = window.jupyterapp?.shell.currentWidget;
            const kernel = panel?.sessionContext?.session?.kernel;
            return panel?.context.isReady && panel.sessionContext.isReady
                && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
        }"""
    )
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()


def run_all(page: Page) -> None:
    """Run every cell and wait until the last one has ended."""
    page.evaluate(
        """() => {
            window.kitchenDone = false;
            window.jupyterapp.commands.execute('notebook:run-all-cells')
                .finally(() => { window.kitchenDone = true; });
        }"""
    )
    page.wait_for_function("() => window.kitchenDone")


def cell_errors(page: Page) -> list[str]:
    """The errors that stand in the outputs of the open notebook."""
    found: list[str] = page.evaluate(
        f"""() => {_PANEL}.content.widgets.flatMap((cell, i) =>
            (cell.model.outputs?.toJSON() ?? [])
                .filter(output => output.output_type === 'error')
                .map(output => `cell ${{i + 1}}: ${{output.ename}}: ${{output.evalue}}`))"""
    )
    return found


def broken_pictures(page: Page) -> list[str]:
    """Pictures in outputs that do not show, or that have no alt text."""
    page.wait_for_function("() => [...document.images].every(img => img.complete)")
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output img')]
            .filter(img => !img.naturalWidth || !img.alt)
            .map(img => `${img.src.slice(0, 40)}... alt=${img.alt}`)"""
    )
    return found


def screenshots(page: Page, folder: Path, name: str, width: int, scheme: Scheme) -> None:
    """Pictures of the whole notebook, as pages of one screen each."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-{scheme}-{width}-*.png"):
        old.unlink()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 1600})
    page.wait_for_function(
        f"() => document.body.dataset.jpThemeLight === '{str(scheme == 'light').lower()}'"
    )
    height, view = page.evaluate(f"() => [{_SCROLLER}.scrollHeight, {_SCROLLER}.clientHeight]")
    for number, top in enumerate(range(0, height, view - 60), start=1):
        page.evaluate(f"() => {{ {_SCROLLER}.scrollTop = {top}; }}")
        page.screenshot(path=folder / f"{name}-{scheme}-{width}-{number:02d}.png")


def press_key_and_time(page: Page, slider: Locator, key: str, picture: Locator) -> float:
    """Press `key` on `slider`; the milliseconds until the changed picture is on the screen.

    Args:
        slider: takes the focus, as with the tab key.
        picture: the ``<img>`` that has to change. It may be replaced by another one, in the same
            place.
    """
    slider.focus()
    picture.evaluate(
        """(img) => {
            const place = img.closest('.jupyter-widgets') ?? img.parentElement;
            const before = img.src;
            window.kitchenTiming = null;
            addEventListener('keydown', () => {
                const start = performance.now();
                const look = () => {
                    const now = place.querySelector('img');
                    if (now && now.src !== before && now.complete && now.naturalWidth)
                        window.kitchenTiming = performance.now() - start;
                    else requestAnimationFrame(look);
                };
                requestAnimationFrame(look);
            }, { capture: true, once: true });
        }"""
    )
    page.keyboard.press(key)
    page.wait_for_function("() => window.kitchenTiming", timeout=10_000)
    milliseconds: float = page.evaluate("() => window.kitchenTiming")
    return milliseconds
