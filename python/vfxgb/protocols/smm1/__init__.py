"""Protocol `smm1`: FedXGBoost-SMM-1 (FedXGBoost, algorithms 1 and 2). Broken; for research only."""
