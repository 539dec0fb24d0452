"""The attacks: one file each, registered by being here (see audit/attack.py)."""
