"""`vfxgb bench train`: what encrypted training costs."""
