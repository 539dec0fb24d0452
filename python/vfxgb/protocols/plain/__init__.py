"""Protocol `plain`: gradients in clear. For tests, and the measure of every other protocol."""
