"""What is answered to an agent that is not there any more: nothing, and without a complaint."""

from aiohttp import web


class Gone(web.StreamResponse):
    """Nothing more is to be said on a connection."""

    async def prepare(self, request: web.BaseRequest) -> None:
        """Stop here, as after a hang-up."""
        del request
        raise ConnectionResetError("the agent is gone")
