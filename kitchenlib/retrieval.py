"""Vector search: what an index of vectors weighs, and what a search in it has to do.

Three kinds. A *flat* index compares the question with every vector. An *inverted file* first picks
the `probes` nearest of `lists` centroids, and scans only their lists. A *graph* (HNSW) walks from
neighbour to neighbour along stored links. A search is `Work`, for the same law as a model's pass:
vectors are read as weights are, once for all questions of a batch that meet them.

Sizes are those of faiss: 4 bytes a value, 8 for the id of a vector in a list, 4 for a link. Picking
the best (the heap) is no product, and not counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.experts import expected_distinct
from kitchenlib.inputs import Number, broadcastable, count, positive, wrong
from kitchenlib.roofline import Part, Work
from kitchenlib.units import FLOP_PER_MULTIPLY_ADD

_ID_BYTES = 8
_LINK_BYTES = 4
_VALUE_BYTES = 4.0  # float32


def flat_bytes(vectors: ArrayLike, dim: ArrayLike, value_bytes: ArrayLike = _VALUE_BYTES) -> Number:
    """Bytes of `vectors` vectors of `dim` values and nothing else: ``N d b``."""
    n, d = count("vectors", vectors, "vectors"), count("dim", dim, "values per vector")
    b = positive("value_bytes", value_bytes, "bytes per value")
    broadcastable(vectors=n, dim=d, value_bytes=b)
    return n * d * b


def inverted_bytes(
    vectors: ArrayLike,
    dim: ArrayLike,
    lists: ArrayLike,
    value_bytes: ArrayLike = _VALUE_BYTES,
) -> Number:
    """Bytes of an inverted file: the vectors, an id for each, and the centroids (float32)."""
    held = flat_bytes(vectors, dim, value_bytes)
    n = count("vectors", vectors, "vectors")
    centroids = _lists(lists, n) * count("dim", dim, "values per vector") * _VALUE_BYTES
    return held + n * _ID_BYTES + centroids


def graph_bytes(
    vectors: ArrayLike,
    dim: ArrayLike,
    links: ArrayLike,
    value_bytes: ArrayLike = _VALUE_BYTES,
) -> Number:
    """Bytes of a graph (HNSW), M = `links`: vectors, and 2 M links of each: ``N (d b + 8 M)``.

    The lowest level, which holds every vector; the levels above add about one part in M of links.

    >>> graph_bytes(vectors=1, dim=128, links=32)
    768.0
    """
    m = count("links", links, "links")
    return flat_bytes(vectors, dim, value_bytes) + count("vectors", vectors, "vectors") * _around(m)


def flat_search(
    vectors: ArrayLike,
    dim: ArrayLike,
    queries: ArrayLike = 1,
    value_bytes: ArrayLike = _VALUE_BYTES,
) -> Work:
    """The work of `queries` searches together: each vector is read once and multiplied by all."""
    scanned = flat_bytes(vectors, dim, value_bytes)
    q = count("queries", queries, "questions")
    products = count("vectors", vectors, "vectors") * count("dim", dim, "values per vector")
    return Work({"vectors": _scan(products * q, scanned)})


def inverted_search(
    vectors: ArrayLike,
    dim: ArrayLike,
    lists: ArrayLike,
    probes: ArrayLike,
    queries: ArrayLike = 1,
    value_bytes: ArrayLike = _VALUE_BYTES,
) -> Work:
    """The work of `queries` searches together in an inverted file.

    Lists are taken as equally long and equally likely, so questions share lists as tokens share
    experts: ``L (1 - (1 - p/L)^q)`` distinct ones are read.
    """
    held = flat_bytes(vectors, dim, value_bytes)
    n, d = count("vectors", vectors, "vectors"), count("dim", dim, "values per vector")
    q = count("queries", queries, "questions")
    k, p = _lists(lists, n), count("probes", probes, "lists")
    if np.any(np.greater(p, k)):
        raise wrong("probes", probes, "give at most as many lists as there are")
    ids = n * _ID_BYTES
    read = (held + ids) / k * expected_distinct(k, p, q)
    return Work(
        {
            "centroids": _scan(k * d * q, k * d * _VALUE_BYTES),
            "vectors": _scan(n / k * p * d * q, read),
        }
    )


def graph_search(
    dim: ArrayLike,
    links: ArrayLike,
    expanded: ArrayLike,
    queries: ArrayLike = 1,
    value_bytes: ArrayLike = _VALUE_BYTES,
) -> Work:
    """The most work of `queries` searches in a graph, each of which expands `expanded` vectors.

    Expanding one reads its 2 M links and compares with all it points to; of those, some were seen
    already, so this is an upper bound. About as many are expanded as the search keeps candidates
    (``efSearch``). Questions walk alone and share nothing. The size of the index does not enter.
    """
    d, m = count("dim", dim, "values per vector"), count("links", links, "links")
    steps, q = count("expanded", expanded, "vectors"), count("queries", queries, "questions")
    b = positive("value_bytes", value_bytes, "bytes per value")
    broadcastable(dim=d, links=m, expanded=steps, queries=q, value_bytes=b)
    seen = q * steps * 2 * m
    return Work(
        {
            "links": Part(weight_bytes=q * steps * _around(m)),
            "vectors": _scan(seen * d, seen * d * b),
        }
    )


def _lists(lists: ArrayLike, vectors: Number) -> Number:
    k = count("lists", lists, "lists")
    if np.any(np.greater(k, vectors)):
        raise wrong("lists", lists, "give at most as many lists as there are vectors")
    return k


def _around(links: Number) -> Number:
    """Bytes of the links of one vector on the lowest level, which has twice as many."""
    return 2 * links * _LINK_BYTES


def _scan(products: Number, nbytes: Number) -> Part:
    return Part(FLOP_PER_MULTIPLY_ADD * products, nbytes, rates=("fp32", "bf16"))
