"""Protocol `masked`: MaskedXGBoost of papers/002, broken (ERRATA E41): for research only."""
