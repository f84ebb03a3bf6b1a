"""Draws figures/: every figure of `kitchenlib.plots` as SVG and PNG, with its alt text.

python -m tools.figures
"""

from pathlib import Path

from kitchenlib import plots

FOLDER = Path(__file__).parents[1] / "figures"
SUFFIXES = (".svg", ".png", ".txt")


def build(folder: Path = FOLDER) -> None:
    """Draw every figure into `folder`; files of figures that are no more are removed."""
    folder.mkdir(exist_ok=True)
    figures = plots.figures()
    for name, draw in figures.items():
        draw().save(folder, name)
        print(name, flush=True)
    for file in folder.iterdir():
        if file.suffix in SUFFIXES and file.stem not in figures:
            file.unlink()
            print(f"{file.name} removed: no figure has this name")


if __name__ == "__main__":
    build()
