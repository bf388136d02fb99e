"""Whether the numbers are still the same: modules are run on the CPU with the same inputs, and their outputs compared.

What comes in is said by InputSpec, how far outputs may be apart by Tolerance; what comes out is a Verification.
"""

from constpolicy.verify.files import verify_files, verify_outputs
from constpolicy.verify.input_spec import InputRange, InputSet, InputShape, InputSpec
from constpolicy.verify.messages import ParameterArchive
from constpolicy.verify.record import Verification
from constpolicy.verify.run import Limits
from constpolicy.verify.standard import Standard, expected_standard
from constpolicy.verify.tolerance import EXACT, OutputBounds, Statistic, Tolerance

__all__ = [
    "EXACT",
    "InputRange",
    "InputSet",
    "InputShape",
    "InputSpec",
    "Limits",
    "OutputBounds",
    "ParameterArchive",
    "Standard",
    "Statistic",
    "Tolerance",
    "Verification",
    "expected_standard",
    "verify_files",
    "verify_outputs",
]
