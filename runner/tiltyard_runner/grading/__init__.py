"""Grading: what the agent left is compared and judged in a container that the agent never touched."""
