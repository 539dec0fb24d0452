"""Protocol `batch_he`: as many gradient pairs in one ciphertext as fit."""
