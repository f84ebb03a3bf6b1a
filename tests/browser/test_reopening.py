"""With the settings that come with the environment, a notebook opens again as it was closed."""

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, expect

from tests.browser import lab
from tests.browser.conftest import new_page
from tools import environment, sources
from tools.notebooks import normalise

NOTEBOOK = "slider.ipynb"
SLIDER = 'from ipywidgets import IntSlider\nIntSlider(7, description="Guests")'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one notebook that makes one slider."""
    folder = tmp_path / "root"
    folder.mkdir()
    notebook = new_notebook(cells=[new_code_cell(SLIDER)], metadata=sources.METADATA)
    nbformat.write(notebook, folder / NOTEBOOK)
    return folder


@pytest.fixture
def address(browser: Browser, root: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab on it, set as `make lab` sets it."""
    home = tmp_path / "home"
    for plugin, value in environment.OVERRIDES.items():
        extension, _, name = plugin.partition(":")
        file = home / "settings" / extension / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(value))
    with lab.jupyterlab(root, home) as address:
        yield address


def test_a_widget_shows_again_without_its_kernel_and_no_build_keeps_it(
    browser: Browser, root: Path, address: str
) -> None:
    with new_page(browser) as (page, _):
        lab.open_notebook(page, address, NOTEBOOK)
        lab.run_all(page)
        page.get_by_role("slider").wait_for()
        page.evaluate(
            """async () => {
                await window.jupyterapp.commands.execute('docmanager:save');
                await window.jupyterapp.serviceManager.sessions.shutdownAll();
            }"""
        )
    with new_page(browser) as (page, _):
        page.goto(address.format(NOTEBOOK))
        expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "7", timeout=20_000)
        assert not page.get_by_text("Error displaying widget").count()
    saved = nbformat.read(root / NOTEBOOK, as_version=4)
    assert "widgets" in saved.metadata
    normalise(saved)
    assert saved.metadata == sources.METADATA
