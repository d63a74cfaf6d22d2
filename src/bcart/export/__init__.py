"""A tree, written in the language of the place where it is needed."""
