"""Amounts as people write them. Money is whole cents: no float touches it."""


def parse_amount(text: str) -> int:
    """Reads an amount such as ``1,200.5`` or ``-3.07`` and gives cents."""
    text = text.strip().replace(",", "")
    sign = -1 if text.startswith("-") else 1
    whole, _, part = text.lstrip("+-").partition(".")
    if len(part) > 2:
        raise ValueError(f"more than two decimals: {text!r}")
    return sign * (int(whole or "0") * 100 + int(part.ljust(2, "0")))
