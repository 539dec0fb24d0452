"""Protocol `rounded`: gradients in clear, in one, two or four bytes. The example of docs/extending.md."""
