"""What a request holds, found in one walk over it: a request of a megabyte has thousands of parts."""

from typing import Any, NamedTuple

_PICTURES = frozenset({"image", "image_url", "input_image"})
_OPAQUE_TYPES = frozenset({
    "document", "file", "input_file", "input_audio", "container_upload", "item_reference", "video_url",
})  # fmt: skip
_FILE_KEYS = frozenset({"fileData", "file_data"})
_MEDIA_KEYS = _FILE_KEYS | {"inlineData", "inline_data"}
_OPAQUE_OPTIONS = frozenset({
    "cachedContent", "cached_content", "previous_response_id", "conversation", "prompt",
})  # fmt: skip


class Body(NamedTuple):
    """A request body as it came."""

    raw: bytes
    values: int
    """About how many it holds."""
    members: int
    """How many names with a value it holds, where it is JSON."""


class Contents(NamedTuple):
    """A request body that has been read."""

    body: dict[str, Any]
    members: int
    """Names with a value, in all objects together."""
    pictures: int
    opaque: bool
    """Whether there is something whose size the request does not show."""


def look_through(body: dict[str, Any]) -> Contents:
    """Look at every object once, layer by layer: a list at a time costs less than a value at a time."""
    members, pictures, opaque = 0, 0, any(body.get(key) for key in _OPAQUE_OPTIONS)
    layer: list[Any] = [body]
    while layer:
        objects = [value for value in layer if value.__class__ is dict]
        members += sum(map(len, objects))
        for item in objects:
            kind = item.get("type")
            if kind.__class__ is str:
                pictures += kind in _PICTURES
                opaque = opaque or kind in _OPAQUE_TYPES
            if not _MEDIA_KEYS.isdisjoint(item):
                is_picture = _is_inline_picture(item)
                pictures, opaque = pictures + is_picture, opaque or not is_picture
        lists = [value for value in layer if value.__class__ is list]
        layer = [value for item in objects for value in item.values() if value.__class__ is not str]
        for values in lists:
            layer += values
    return Contents(body, members, pictures, opaque)


def _is_inline_picture(item: dict[str, Any]) -> bool:
    inline = item.get("inlineData", item.get("inline_data"))
    if not isinstance(inline, dict) or not _FILE_KEYS.isdisjoint(item):
        return False
    return str(inline.get("mimeType", inline.get("mime_type"))).startswith("image/")
