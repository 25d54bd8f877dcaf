"""Property tests that no clock decides: on a busy machine one example, or drawing it, can take a second."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "unhurried", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")
