"""The floor of the group "write"."""

from floor import write_pieces as write_pieces
