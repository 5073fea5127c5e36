from ledger.amount import parse_amount


def test_plain():
    assert parse_amount("12.50") == 1250


def test_whole():
    assert parse_amount("7") == 700


def test_thousands_separator():
    assert parse_amount("1,200.50") == 120050


def test_one_decimal():
    assert parse_amount("3.5") == 350


def test_refund():
    assert parse_amount("-3.07") == -307


def test_no_rounding():
    assert parse_amount("1,136,868,377,216.29") == 113686837721629
