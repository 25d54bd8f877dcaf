"""The one error by which a request is turned away."""


class RefusedError(Exception):
    """The request is not sent on; the agent gets the status and the sentence."""

    def __init__(self, status: int, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason
        """For machines: why, where it says something about the run."""
