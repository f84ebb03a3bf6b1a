"""Every notebook, opened, run and looked at in a real JupyterLab."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser import lab
from tests.browser.conftest import ARTIFACTS

NOTEBOOKS = sorted(path.stem for path in Path("notebooks").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_run_all_gives_no_error_in_a_cell_or_on_the_page(name: str, page: Page, address: str):
    lab.open_notebook(page, address, f"notebooks/{name}.ipynb")
    assert lab.broken_pictures(page) == []  # as in a fresh clone: nothing has run yet
    lab.run_all(page)
    assert lab.cell_errors(page) == []
    assert lab.broken_pictures(page) == []
    for width in (1200, 700):
        for scheme in ("light", "dark"):
            lab.screenshots(page, ARTIFACTS / name, name, width, scheme)
