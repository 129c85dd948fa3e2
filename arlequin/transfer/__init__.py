"""Transfer of the state of a body from one mesh to another."""
