"""Protocol `masked`: MaskedXGBoost, broken (ERRATA E41): for research only."""
