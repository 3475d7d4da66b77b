"""The language: text to a typed program, and what it means on exact numbers, without numpy."""
