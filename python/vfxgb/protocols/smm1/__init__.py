"""Protocol `smm1`: FedXGBoost-SMM-1 (papers/000, algorithms 1 and 2). Broken; for research only."""
