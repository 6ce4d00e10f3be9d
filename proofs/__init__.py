"""What z3 shows of the two tables for all inputs, from the tables' own data and code.

A claim is proved when its negation has no model. Where it has one, that model is the witness.
"""
