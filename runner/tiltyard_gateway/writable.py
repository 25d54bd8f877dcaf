"""Texts of others, as they can be written down."""


def writable(text: str) -> str:
    """A text without halves of characters, which JSON can escape and bytes that are no UTF-8 become.

    Nothing can write them as UTF-8, neither a journal nor a request.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
