"""Where a party's rows are, as an interface: base.py says what a RowStore is, memory.py has one."""
