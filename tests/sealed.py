"""Documents with a digest that fits whatever was changed in them, as an attacker would write them."""

from __future__ import annotations

import json
from typing import Any

from hedgerow.files import content_digest, json_array


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"digest": content_digest(content)}


def sealed_arrays(arrays: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The arrays of an archive, after changes of fields."""
    others = {name: array for name, array in arrays.items() if name != "about"}
    about = json.loads(arrays["about"].tobytes()) | changes
    return {"about": json_array(about | {"digest": content_digest(about, others)}), **others}
