from ledger.report import totals


def test_all_months():
    assert totals("data/2026.csv") == {"groceries": 119743, "travel": 8820}


def test_one_month():
    assert totals("data/2026.csv", month="2026-01") == {"groceries": 120050, "travel": 8820}
