"""What can be done, one module per noun: load, decide, commit."""
