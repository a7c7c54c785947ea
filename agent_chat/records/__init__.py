"""What is written down: values and their text form; no disk, no clock, no environment."""
