"""Protocol `batch_he` puts as many gradient pairs into one ciphertext as fit."""
