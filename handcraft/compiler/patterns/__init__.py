"""Patterns as steps of the language: each kind of automaton by its cheapest construction."""
