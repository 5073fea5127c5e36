"""Totals by account."""

import csv

from ledger.amount import parse_amount


def totals(path: str) -> dict[str, int]:
    """Adds up a CSV file of ``date,account,amount`` rows; the sums are cents."""
    sums: dict[str, int] = {}
    with open(path, newline="", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            account = row["account"]
            sums[account] = sums.get(account, 0) + parse_amount(row["amount"])
    return sums
