"""One organisation's side of a run between processes: configuration, consent, folder, commands."""
