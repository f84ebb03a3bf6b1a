"""The self-test of the first notebook says what is wrong and what to do, or that all is well."""

from importlib import metadata

import pytest

from kitchenlib import selftest


def test_all_is_in_place_here(capsys: pytest.CaptureFixture[str]) -> None:
    selftest.selftest()
    said = capsys.readouterr().out
    assert "PROBLEM" not in said
    assert "57 chips and 35 models" in said


@pytest.mark.parametrize(
    ("found", "word"), [(None, "matplotlib is missing"), ("3.9.2", "matplotlib 3.9.2 is too old")]
)
def test_a_missing_or_old_package_is_named_with_its_cure(
    found: str | None,
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name != "matplotlib":
            return real(name)
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(metadata, "version", version)
    selftest.selftest()
    said = capsys.readouterr().out
    assert said.startswith(f"PROBLEM  {word}")
    assert "pip install -r requirements.txt" in said
    assert "ready to cook" not in said


def test_a_python_that_is_too_old_or_new_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(selftest.sys, "version_info", (3, 9, 1))
    selftest.selftest()
    assert "this is Python 3.9: use 3.11, 3.12 or 3.13" in capsys.readouterr().out
