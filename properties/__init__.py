"""The property suite: what SPEC.md promises, asked of any implementation through a Subject."""
