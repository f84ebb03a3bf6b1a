"""Vector search: sizes and scans against counts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitchenlib.retrieval import (
    flat_bytes,
    flat_search,
    graph_bytes,
    graph_search,
    inverted_bytes,
    inverted_search,
)

SIZES: dict[str, Any] = {"vectors": 10_000, "dim": 64}
BAD = [0, -1, 0.5, None, "8", float("nan")]


def test_a_flat_index_is_its_vectors() -> None:
    assert flat_bytes(**SIZES) == 10_000 * 64 * 4
    assert flat_bytes(**SIZES, value_bytes=1) == 10_000 * 64


def test_an_inverted_file_adds_ids_and_centroids() -> None:
    extra = inverted_bytes(**SIZES, lists=100) - flat_bytes(**SIZES)
    assert extra == 10_000 * 8 + 100 * 64 * 4


def test_a_graph_adds_two_m_links_to_each_vector() -> None:
    assert graph_bytes(**SIZES, links=32) - flat_bytes(**SIZES) == 10_000 * 2 * 32 * 4


def test_questions_share_a_flat_scan() -> None:
    one, many = (flat_search(**SIZES, queries=q) for q in (1, 50))
    assert many.bytes == one.bytes == flat_bytes(**SIZES)
    assert many.flops == 50 * one.flops == 50 * 2 * 10_000 * 64


def test_an_inverted_file_reads_the_lists_it_probes() -> None:
    work = inverted_search(**SIZES, lists=100, probes=5)
    assert work.parts["vectors"].bytes == pytest.approx(0.05 * 10_000 * (64 * 4 + 8))
    assert work.parts["vectors"].flops == pytest.approx(0.05 * 2 * 10_000 * 64)
    assert work.parts["centroids"].bytes == 100 * 64 * 4


def test_probing_every_list_is_the_flat_scan_and_more() -> None:
    work, flat = inverted_search(**SIZES, lists=100, probes=100), flat_search(**SIZES)
    assert work.parts["vectors"].flops == pytest.approx(flat.flops)
    assert work.bytes > flat.bytes


def test_many_questions_read_every_list_once() -> None:
    """As guests of a mixture read every expert."""
    dice = np.random.default_rng(1)
    lists = [len(np.unique([dice.permutation(20)[:2] for _ in range(8)])) for _ in range(4000)]
    one, eight = (inverted_search(**SIZES, lists=20, probes=2, queries=q) for q in (1, 8))
    ratio = eight.parts["vectors"].bytes / one.parts["vectors"].bytes
    assert ratio == pytest.approx(np.mean(lists) / 2, rel=0.01)
    crowd = inverted_search(**SIZES, lists=20, probes=2, queries=10_000)
    assert crowd.parts["vectors"].bytes == pytest.approx(10_000 * (64 * 4 + 8))


def test_a_walk_reads_the_links_and_the_vectors_they_point_to() -> None:
    work = graph_search(dim=64, links=16, expanded=40, queries=3)
    assert work.parts["links"].bytes == 3 * 40 * 2 * 16 * 4
    assert work.parts["vectors"].bytes == 3 * 40 * 2 * 16 * 64 * 4
    assert work.flops == 3 * 40 * 2 * 16 * 2 * 64


def test_sizes_may_be_arrays() -> None:
    n, probes = np.array([1000, 10_000])[:, None], np.array([1, 10])
    swept = inverted_search(n, 64, 100, probes).bytes
    for i, vectors in enumerate((1000, 10_000)):
        for j, probed in enumerate((1, 10)):
            alone = inverted_search(vectors, 64, 100, probed).bytes
            assert np.asarray(swept)[i, j] == pytest.approx(alone)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (flat_search, {**SIZES, "queries": 2}),
        (inverted_bytes, {**SIZES, "lists": 100}),
        (inverted_search, {**SIZES, "lists": 100, "probes": 5, "queries": 2}),
        (graph_bytes, {**SIZES, "links": 8}),
        (graph_search, {"dim": 64, "links": 8, "expanded": 40, "queries": 2}),
    ],
)
def test_a_size_is_a_whole_number_above_zero(
    function: Any, arguments: dict[str, Any], bad: Any
) -> None:
    for name in arguments:
        with pytest.raises(ValueError, match=rf"{name} .*whole number"):
            function(**arguments | {name: bad})
    with pytest.raises(ValueError, match=r"value_bytes.*bytes per value"):
        function(**arguments, value_bytes=-1)


def test_there_are_no_more_lists_than_vectors_and_no_more_probes_than_lists() -> None:
    with pytest.raises(ValueError, match=r"lists = 10001 .*as there are vectors"):
        inverted_bytes(**SIZES, lists=10_001)
    with pytest.raises(ValueError, match=r"probes = 101 .*as many lists as there are"):
        inverted_search(**SIZES, lists=100, probes=101)
