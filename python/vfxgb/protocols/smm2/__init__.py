"""Protocol `smm2`: FedXGBoost-SMM-2 (papers/000, algorithms 3 to 5). Broken; for research only."""
