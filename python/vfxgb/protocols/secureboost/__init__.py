"""Protocol `secureboost`: every g and every h in a ciphertext of its own."""
