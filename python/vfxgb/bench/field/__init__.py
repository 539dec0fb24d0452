"""`vfxgb bench field`: protocols of vfxgb and other libraries, two processes each, over the same shaped lines.

    axes           shapes of tables, lines, levels of privacy; what a run measures
    shaper         a line with a rate and a delay between two ports
    process_cost   processor time and memory of a party, whatever processes it has
    parties        the processes of the parties, and what they tell
    peers          which entrants there are, their environments, their installation
    tables         the tables, and the models that entrants are compared with
    cell           one training: run, checked, counted
    estimate       how long a cell will take
    results        the JSON file
    measure        all cells, one after the other
    published      numbers of papers and documentation, not measured here
    page, figure   what people read

The entrants themselves are in bench/field/adapters; script_folders.py says where a wheel has them.
"""
