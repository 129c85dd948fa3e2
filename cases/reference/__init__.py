"""Independent references of the cases: closed forms, characteristics, the delay equation of a contact."""
