"""Errors of running.

TiltyardError
├── InfraError          the engine, an image or the node failed: the run is tried again
│   └── GradingError    the pristine container could not do its part
└── SetupError          the arm's own setup failed: recorded, others go on
"""

from tiltyard_specs.errors import TiltyardError, UnavailableError


class InfraError(UnavailableError):
    """Something of the machine failed that is neither the agent's nor the arm's doing."""


class GradingError(InfraError):
    """Grading could not be done; the run has no verdict."""


class SetupError(TiltyardError):
    """A setup command of the arm failed."""
