"""How the property tests search: the same examples on every machine, however slow it is."""

from hypothesis import settings

settings.register_profile("kitchen", derandomize=True, deadline=None)
settings.load_profile("kitchen")
