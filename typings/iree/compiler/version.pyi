PACKAGE_SUFFIX: str
VERSION: str
REVISIONS: dict[str, str]
