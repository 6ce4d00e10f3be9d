"""The progress half: a claim in, an independent report read, an outcome kept. (SPEC part two)"""
