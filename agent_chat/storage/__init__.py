"""The only code that touches disk, clock and ids."""
