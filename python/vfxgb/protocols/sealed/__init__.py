"""`sealed`: no sum is opened and no node is shown."""
