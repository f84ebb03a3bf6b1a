"""A JupyterLab on a copy of the notebooks, and a Chromium to see it with.

Without a Chromium the browser tests are skipped; in CI that is an error.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import lab

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    missing = "no Chromium found: sudo apt install chromium, or name one in the variable CHROMIUM"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


# One module and no longer: Playwright's event loop would stand in the way of other tests.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab on a copy of the notebooks."""
    root, home = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("jupyter")
    for folder in ("notebooks", "figures"):
        ignored = shutil.ignore_patterns(".ipynb_checkpoints")
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    with lab.jupyterlab(root, home) as address:
        yield address


@contextmanager
def new_page(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page, and the list that the errors of its scripts go to."""
    context = browser.new_context(viewport={"width": 1200, "height": 1600})
    page = context.new_page()
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        yield page, errors
    finally:
        context.close()
