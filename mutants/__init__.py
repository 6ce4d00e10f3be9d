"""Faults, one at a time, each of which one named property has to find.

A gate that has been removed looks like a gate that found nothing. `records/` holds the faults that
were written by hand, `generated` makes the others out of the tables, `runner` runs them all.
"""
