"""What was found, decided and built: as data, as JSON, and as a table."""
