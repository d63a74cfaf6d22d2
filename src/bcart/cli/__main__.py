"""``python -m bcart.cli`` is the command `bcart`."""

from bcart.cli import main

if __name__ == "__main__":
    main()
