"""Limits and flags of users and groups, and the stop of a user.

Budgets join here, as columns of `Rule` and `Effective`.
"""
