"""Several coding agents and people talk through Markdown files in shared folders."""

__version__ = "0.1.0"
