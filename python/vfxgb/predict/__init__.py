"""Prediction with a model whose parts lie at several parties."""
