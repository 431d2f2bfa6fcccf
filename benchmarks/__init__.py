"""How fast simqueue is, always as a ratio to others measured in the same run."""
