"""One run from start to record: container, agent, grading."""
