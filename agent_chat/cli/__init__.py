"""How it is said: the table of commands, their handlers, and all that meets a terminal."""
