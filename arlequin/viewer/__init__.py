"""Results in three dimensions: a page for browsers and notebooks, and a window of PyVista."""
