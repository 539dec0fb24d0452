"""Both sides of protocols whose sums the active party opens: plain, secureboost, batch_he and ot_shares."""
