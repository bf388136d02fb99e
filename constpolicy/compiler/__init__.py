"""The only place that touches IREE's compiler API: flags, session and phases, output files, the child process."""
