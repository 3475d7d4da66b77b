"""`python -m handcraft` is the command line."""

from handcraft.cli import main

main()
