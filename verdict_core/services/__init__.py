"""Who can be asked inside the band: a command, or an OpenAI-compatible chat endpoint.

In: a request. Out: an answer, unread, or NoAnswer with exactly one detail. Nothing here is imported
by the core, and nothing here can open anything: an answer only makes a verdict more careful.
"""
