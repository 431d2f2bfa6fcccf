"""The simulation itself: SimPy processes, and nothing that draws, tabulates or reads input."""
