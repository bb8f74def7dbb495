"""The floor of the group "parse"."""

from floor import read_check_copy as read_check_copy
