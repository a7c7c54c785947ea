"""What can be done, one module per noun: load, plan (pure), commit."""
