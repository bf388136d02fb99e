"""`python -m constpolicy` is the command `constpolicy`."""

from constpolicy.cli.main import main

main()
