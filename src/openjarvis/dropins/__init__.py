"""Tools dropped into a folder as files, found at the next start."""
