# Types for `iree.compiler.tools.debugging`, checked against iree-base-compiler 3.13. Only what constpolicy uses.
from types import TracebackType

class TempFileSaver:
    @staticmethod
    def implicit() -> TempFileSaver: ...
    def __enter__(self) -> TempFileSaver: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None: ...
