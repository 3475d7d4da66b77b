"""Patterns: regular languages as text or tables, their automata, and what kind each one is."""
