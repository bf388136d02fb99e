"""Programs to try constpolicy on: small generated ones, a generated BERT, and real models from package registries."""
