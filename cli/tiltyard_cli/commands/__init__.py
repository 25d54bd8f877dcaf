"""One file for each command; what is heavy is imported when the command runs."""
