# Types for `iree.compiler.tools.binaries`, checked against iree-base-compiler 3.13. Only what constpolicy uses.
import subprocess

class CompilerToolError(Exception):
    def __init__(self, process: subprocess.CompletedProcess[bytes]) -> None: ...

def find_tool(exe_name: str) -> str: ...
def invoke_immediate(
    command_line: list[str], *, input_file: bytes | None = None, immediate_input: bytes | None = None
) -> bytes: ...
