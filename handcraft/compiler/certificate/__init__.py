"""What is proved of a placed graph: that it computes the program, and how far rounding takes it.

Proved, operation by operation, over all values of what each reads (`purposes.py` says what for):

- neurons: what they read is what the program's table, curve or choice reads, whatever basis the
  passes have chosen; tables cell by cell, curves piece by piece, choices gate by gate (`intents`);
- heads: the score is the sum of the selector's literals, and each tells the pairs of its table from
  all others, the start token included; what is moved is what is meant, also where nothing is
  selected, and ties are broken by position (`errands`);
- the forms of the read-out are those of the program's values;
- every rounding of the transformer in each format, in any order of summation (`stream`, `cases`,
  `heads`, `means`), against the distance that decides (`readouts`).

Trusted, and tested instead, exhaustively on short inputs and on random programs:

- the language: the typed program with its domains, tables and bounds on how many keys are selected;
- that the forms named in a purpose stand for the s-ops that they are named after, and a selector's
  literals for the selector: which operation reads which s-op, and the logits' lines or squares;
- that columns which are used again are cleared in time, which `place.verify` asserts;
- that the arrays are the graph's, which `corruption` compares, and that the machine rounds as IEEE
  arithmetic does.
"""
