"""`vfxgb demo`: a bank and a shop on this machine, their tables, their processes, and what came of it."""
