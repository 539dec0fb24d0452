"""Protocol `smm2`: FedXGBoost-SMM-2 (FedXGBoost, algorithms 3 to 5). Broken; for research only."""
