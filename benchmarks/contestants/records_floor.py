"""The floor of the group "records"."""

from floor import read_and_check as read_and_check
from floor import read_and_check_fastest as read_and_check_fastest
from floor import write_pieces as write_pieces
