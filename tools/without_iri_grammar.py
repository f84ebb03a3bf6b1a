"""Keeps a two-second import out of a process: imported first, by pytest (`-p`) and the builders.

nbformat imports jsonschema, and jsonschema imports `rfc3987_syntax`, which compiles a grammar of
internationalised web addresses each time. Without that package jsonschema leaves this one check
out. No notebook format uses it, and every test process would pay for it.
"""

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # importing it now fails
