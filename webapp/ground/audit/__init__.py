"""The audit log: each action of an operator, with its actor, the state before and the state after.

Rests on django-auditlog, which compares the fields of the models that are given to `audited`.
"""
