"""Life of a part that wears: depth over months with the feedback on the gap, time to a limit, its distribution."""
