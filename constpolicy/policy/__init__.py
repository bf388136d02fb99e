"""What the user wants: policies as YAML files, and what they decide. Nothing here knows IREE."""
