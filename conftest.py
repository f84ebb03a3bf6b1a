"""What every test shares, the notebooks run by nbval included."""

import os

# The kernels inherit it: a test neither reads nor writes anyone's answers.
os.environ["KITCHEN_ANSWERS"] = "memory"
