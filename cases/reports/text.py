"""Text of unknown origin in reports."""

import unicodedata


def printable(text: str) -> str:
    """Text with a replacement for each control, format and surrogate character; tabs and line breaks stay."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "\ufffd" for c in text)
