"""How parties talk: typed messages, frames of bytes, channels that count what they carry."""
