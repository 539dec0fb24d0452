"""One attack a file, registered by being there."""
