"""The command line: one file per command. Parses and prints; decides nothing."""
