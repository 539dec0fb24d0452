"""Tables in: reading what users hold, dividing it among parties, filling what is missing."""
