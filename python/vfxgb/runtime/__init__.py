"""What every run carries along: timings of its phases, the ledger of what was revealed, and sealed keys."""
