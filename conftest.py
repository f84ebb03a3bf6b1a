"""What every test shares, the notebooks run by nbval included."""

import os

# The kernels inherit it: a test neither reads nor writes anyone's answers.
os.environ["KITCHEN_ANSWERS"] = "memory"
# Two threads of OpenBLAS wait for each other when anything else needs a core: ten times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A fresh process may wait a second for huge pages when it unpacks the weights; it saves less later.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
