"""A household ledger in a CSV file."""
