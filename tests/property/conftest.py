"""The hypothesis profile of these tests: the same problems in every run on CI, new ones elsewhere."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
