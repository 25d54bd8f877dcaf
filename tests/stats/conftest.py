"""Property tests without a deadline: on a busy machine a single example can take a second."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
