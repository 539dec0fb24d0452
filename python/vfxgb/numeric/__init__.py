"""Arithmetic and draws that give the same numbers however rows are divided: fixed point, exact sums, sampling.

Every other package may stand on this one; it knows neither trees nor parties.
"""
